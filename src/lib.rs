//! ptunnel carries local TCP connections through an HTTP proxy with the CONNECT method.
//!
//! - [`config`]: validated plain values. [`proto`]: bytes of HTTP, SOCKS and authentication.
//! - [`upstream`]: which proxy comes next, health, PAC, Kerberos contexts. [`inbound`]: clients of
//!   `-D` and `--serve-proxy`.
//! - [`listener`]: bound addresses, their settings and ACL, and the changes of a reload.
//! - `engine` (feature `legacy`): everything that polls, on futures 0.1 and tokio-core.
//! - [`observe`]: logs, counters, the status server, `--test`. [`os`]: system calls, resolver.
//! - `cli` (feature `cli`): the program's flags and files. [`timer`], `text`, [`demo`]: small
//!   parts.
//!
//! The features `tls` and `pac` add TLS to proxies and destinations, and PAC files.
//! `--no-default-features` builds everything that doesn't poll, without a futures crate.
//!
//! # As a library
//!
//! An `engine::Tunnel` names a destination and its proxies; an `engine::Engine` opens it, on the loop
//! of a tokio-core `Core`:
//!
//! ```no_run
//! # #[cfg(feature = "legacy")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures::Future;
//! use ptunnel::engine::{Engine, Settings, Tunnel};
//! use tokio_core::reactor::Core;
//!
//! let mut core = Core::new()?;
//! let engine = Engine::new(&core.handle(), Settings::default())?;
//! let tunnel = Tunnel::to("example.org:22".parse()?)
//!     .through("proxy.example:3128".parse()?)
//!     .build();
//! let greeting = engine
//!     .open(&tunnel)
//!     .map_err(|e| e.to_string())
//!     .and_then(|opened| {
//!         println!("open {}", opened.path);
//!         tokio_io::io::read_exact(opened.stream, [0; 8]).map_err(|e| e.to_string())
//!     })
//!     .map(|(_stream, greeting)| greeting);
//! assert_eq!(&core.run(greeting)?, b"SSH-2.0-");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "legacy"))]
//! # fn main() {}
//! ```
//!
//! PAC files need [`upstream::pac::enable`] at the beginning of `main`, because they run in a child
//! process.
//!
//! `examples/` holds a tunnel with a listener, and a proxy and a tunnel in one process.

#![warn(missing_docs)]
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod demo;
#[cfg(feature = "legacy")]
pub mod engine;
mod error;
pub mod inbound;
pub mod listener;
pub mod observe;
pub mod os;
pub mod proto;
mod text;
pub mod timer;
pub mod upstream;

pub use self::error::{Cause, Error, Peer, Phase};
pub use self::text::escape::Escaped;
pub use self::text::seconds::Seconds;
