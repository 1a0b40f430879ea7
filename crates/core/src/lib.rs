//! What ptunnel decides and remembers, without polling.
//!
//! Holds what every rung of `compat/ladder` shares with the program: the configuration, the order of
//! proxies, the listeners, the logs, and all use of the operating system that needs no reactor. Code
//! here can block, on separate threads. It must not name futures, tokio-core, tokio-io or mio, parse
//! bytes from the network (`ptunnel-proto`), or know the options of the command line (`ptunnel-cli`).
//! Those two crates are its neighbours: it uses `ptunnel-proto`, and `ptunnel-cli` and the program use
//! it.
//!
//! - [`config`]: the configuration, with what was loaded from files. [`error`]: why ptunnel can't start, or
//!   a tunnel can't be opened.
//! - [`upstream`]: which proxy comes next, health, PAC, Kerberos contexts. [`inbound`]: clients of
//!   `-D` and `--serve-proxy`.
//! - [`listener`]: bound addresses, their settings and ACL, and the changes of a reload.
//! - [`observe`]: logs, counters, the status server, `--test`. [`os`]: system calls, resolver.
//! - [`timer`]: the timing wheel. [`semaphore`]: a bound on concurrency.
//!
//! Each uses only those further down: `listener`, `observe`, `inbound`, `upstream`, `error` and
//! `config`, `os`, and `timer` and `semaphore`, which use none. `observe::logging` is the exception:
//! `upstream` logs through it.
//!
//! The features `tls` and `pac` add TLS to proxies and destinations, and PAC files.

#![warn(missing_docs)]
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

pub mod config;
pub mod error;
pub mod inbound;
pub mod listener;
pub mod observe;
pub mod os;
pub mod semaphore;
pub mod timer;
pub mod upstream;
