//! ptunnel carries local TCP connections through an HTTP proxy with the CONNECT method.
//!
//! The life of a tunnel, from the command line to its last byte:
//!
//! 1. `main` reads the arguments: [`cli`] knows the flags, [`env`](mod@env) the variables, and
//!    [`config`] holds what came out, validated.
//! 2. [`engine`] binds the listeners and, for each client, opens a way to the destination: it
//!    dials a proxy, asks it with [`wire`]'s bytes for a tunnel, and carries what both sides
//!    say until both have ended.
//! 3. [`net`] is what it does that with: sockets, and the loop that wakes their futures.
//! 4. [`Error`] tells, in one line, what went wrong, with whom and why.
//!
//! What doesn't poll ([`config`], [`env`](mod@env), [`wire`], [`Error`]) is built without any
//! futures crate by `--no-default-features`; the feature `legacy` adds [`engine`] and [`net`],
//! on futures 0.1 and tokio-core, and the feature `cli` what only the program needs.
//!
//! # As a library
//!
//! ```no_run
//! use ptunnel::engine::{Engine, Origin, Settings, Tunnel};
//! ```

#![warn(missing_docs)]
#![deny(unsafe_code)]

#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
#[cfg(feature = "legacy")]
pub mod engine;
pub mod env;
mod error;
mod escape;
#[cfg(feature = "cli")]
pub mod logging;
#[cfg(feature = "legacy")]
pub mod net;
#[cfg(feature = "legacy")]
#[allow(unsafe_code)] // here and nowhere else
mod sys;
pub mod wire;

pub use self::error::{Error, Peer, Phase};
