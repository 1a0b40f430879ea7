//! ptunnel carries local TCP connections through an HTTP proxy with the CONNECT method.
//!
//! This crate holds everything that polls, on async/await and tokio 1. The crates below it never
//! poll; it re-exports what a library needs of them:
//!
//! ```text
//!   src/                 async fn: accept, dial, relay
//!    ├──▶ crates/cli     arguments, config file, passwords ──▶ a Config
//!    │     │
//!    ├─────┴──▶ crates/core     the Config, proxies, listeners, logs, the operating system
//!    │           │
//!    └───────────┴──▶ crates/proto     bytes and values without I/O: HTTP, SOCKS, authentication
//! ```
//!
//! cargo enforces the direction. A step of `compat/ladder` changes this crate; the others stay as
//! they are.
//!
//! A client passes through these files:
//!
//! ```text
//!   server ──▶ accept ──▶ session ──▶ path ──▶ dial ──▶ connect ──▶ relay
//!   binds,     awaits     one         tried    names    CONNECT     bytes,
//!   a runtime  clients    client      hop by   raced    and its     both
//!   per thread                        hop      (8305)   reply       ways
//! ```
//!
//! - `server` binds, starts the threads and drains them; `shutdown` catches the signals.
//! - `session` carries one client; `path` opens a path to its destination; `inbound` serves clients of
//!   `-D` and `--serve-proxy`.
//! - `listen` returns the clients, which `accept` serves; `limits` bounds their number and the time of
//!   each phase; `periodic` reports to the service manager.
//! - `resolve`, `dial`, `tls`, `negotiate` and `connect` are the steps to a proxy or a destination,
//!   each an `async fn`; `negotiate` runs `connect` again when the proxy wants another connection.
//! - `relay`, a future written by hand, copies or splices; `forward` ends a stream after one request and its reply;
//!   `reject` rejects a client.
//! - `timer` counts idle time, and `ticker` drives it; the other limits are tokio's.
//! - `stdio` and `demo` are the modes without listeners of the user; `diagnose` opens the paths of
//!   `--test`.
//! - [`io`] holds the sockets, the streams over them, and the handle that spawns tasks.
//!
//! Code that needs no polling belongs to the crates below. An `async fn` keeps its locals to its end; a
//! block or a `Box` ends a socket or frees memory earlier. Threads share the health of proxies,
//! the permits, the resolvers and the listeners' settings; everything else belongs to one thread.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod accept;
mod connect;
mod demo;
mod diagnose;
mod dial;
mod engine;
mod forward;
mod inbound;
pub mod io;
mod limits;
mod listen;
mod negotiate;
mod path;
mod periodic;
mod proxy_header;
mod reject;
mod relay;
mod resolve;
mod server;
mod session;
mod shutdown;
mod stdio;
mod ticker;
mod timer;
mod tls;

use ptunnel_core::config::Config;
use ptunnel_core::error::Error;
use ptunnel_core::listener::reload::ConfigSource;

pub use self::connect::connect;
pub use self::diagnose::open_path;
pub use self::engine::{Engine, Settings};
pub use self::forward::forwarding;
pub use self::limits::{Permit, Permits};
pub use self::listen::{Client, Listener};
pub use self::negotiate::negotiate;
pub use self::path::Opened;
pub use self::relay::Relay;
pub use self::resolve::Resolver;
pub use self::session::{abort_on_reset, logged_as};
pub use self::ticker::ticker;
pub use self::timer::TaskTimer;
pub use self::tls::{announce, secure};
pub use ptunnel_cli as cli;
pub use ptunnel_core::inbound::policy::Policy;
pub use ptunnel_core::observe::access_log::{ClientSession, LogContext, Origin};
pub use ptunnel_core::observe::session::{Closed, RelayError, SessionSummary, Side, Traffic};
pub use ptunnel_core::upstream::{Builder, ProxyChain, ProxySelector, Tunnel};
pub use ptunnel_core::{config, upstream};
pub use ptunnel_proto::values;

/// Runs a configuration until a signal, the end of stdin or an error ends it. With a `source`,
/// SIGHUP reloads the listeners from it; without one, SIGHUP ends the program.
///
/// # Errors
///
/// The error that ended it; its [`exit_code`](Error::exit_code) is the program's.
pub fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    if config.demo {
        demo::run(config)
    } else if let Some(destination) = &config.stdio {
        stdio::run(config, destination)
    } else {
        server::run(config, source)
    }
}
