//! ptunnel carries local TCP connections through an HTTP proxy with the CONNECT method.
//!
//! The life of a tunnel, from the command line to its last byte:
//!
//! 1. `main` reads the arguments: `cli` knows the flags, [`env`](mod@env) the variables, and
//!    [`config`] holds what came out, validated.
//! 2. `engine` binds the listeners and, for each client, opens a way to the destination: it
//!    dials a proxy, asks it with [`wire`]'s bytes for a tunnel, and carries what both sides
//!    say until both have ended.
//!    Values and rules that need no loop are apart: [`service`] says what listeners are for,
//!    [`roster`] which there are, [`duty`] what each does now, `reload` changes that, [`socket_file`]
//!    minds the files of Unix sockets, [`passed`] knows those that systemd has bound, `entrance`
//!    judges the ways in, [`access`] knows who may connect, [`dynamic`] what those ask for who name
//!    their destination themselves, [`route`] which way is next, [`pac`] what a PAC file says of it,
//!    [`policy`] what the embedded proxy allows, [`clock`] whose time is over, [`report`] what the
//!    log says of the end, [`delivery`] what a relay goes by to lose nothing, `logging` where it goes, [`tally`] what is counted, [`lookup`] asks the
//!    system for a name's addresses, `turn` bounds how many do a thing at once, [`tls`] says what
//!    OpenSSL is told, `supervisor` what the service manager is; `status`, [`stdio`](mod@stdio),
//!    [`demo`] and [`trial`] are plain threads.
//! 3. `net` is what it does that with: sockets, and the loop that wakes their futures.
//! 4. [`Error`] tells, in one line, what went wrong, with whom and why; [`shortage`] whether it
//!    was us.
//!
//! All that doesn't poll is built without any futures crate by `--no-default-features`; the
//! feature `legacy` adds `engine` and `net`, on futures 0.1 and tokio-core, the feature `cli` what
//! only the program needs, the feature `tls` proxies and destinations that are spoken to in TLS, and
//! the feature `pac` files that say which proxies.
//!
//! # As a library
//!
//! An `engine::Tunnel` says where to and which way; an `engine::Engine` opens it, on the loop of
//! a tokio-core `Core`:
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
//!         println!("open {}", opened.via);
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
//! PAC files need [`pac::enable`] at the beginning of `main`: they run in a process of their own.
//!
//! `examples/` holds a tunnel with a listener, and a proxy and a tunnel in one process.

#![warn(missing_docs)]
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

pub mod access;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clock;
pub mod config;
pub mod delivery;
pub mod demo;
pub mod duty;
pub mod dynamic;
#[cfg(feature = "legacy")]
pub mod engine;
mod entrance;
pub mod env;
mod error;
mod escape;
mod field;
mod log_context;
#[cfg(feature = "cli")]
pub mod logging;
pub mod lookup;
#[cfg(feature = "legacy")]
pub mod net;
pub mod pac;
pub mod panics;
pub mod passed;
pub mod policy;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod reload;
pub mod report;
pub mod roster;
pub mod route;
mod seconds;
pub mod service;
pub mod shortage;
pub mod socket_file;
mod status;
pub mod stdio;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod supervisor;
#[allow(unsafe_code)] // here and nowhere else
mod sys;
pub mod tally;
#[cfg(feature = "tls")]
pub mod tls;
pub mod trial;
mod turn;
pub mod wire;

pub use self::error::{Cause, Error, Peer, Phase, Seconds};
pub use self::escape::Escaped;
