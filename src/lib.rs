//! ptunnel carries local TCP connections through an HTTP proxy with the CONNECT method.
//!
//! This crate holds everything that polls, on futures 0.1 and tokio-core. The crates below it never
//! poll; it re-exports what a library needs of them:
//!
//! ```text
//!   src/                 futures: accept, dial, connect, relay
//!    ├──▶ crates/notify  handles that wake tasks of futures 0.1
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
//!   binds,     a Stream   one         tried    names    CONNECT     bytes,
//!   a reactor  of         client      hop by   raced    and its     both
//!   per thread clients                hop      (8305)   reply       ways
//! ```
//!
//! - `server` binds, starts the reactors and drains them; `shutdown` catches the signals.
//! - `session` carries one client; `path` opens a path to its destination; `inbound` serves clients of
//!   `-D` and `--serve-proxy`.
//! - `listen` is the stream of clients, which `accept` serves, `added_listeners` after a reload;
//!   `limits` bounds the number of clients and the time of each phase; `periodic` reports to the service
//!   manager.
//! - `resolve`, `dial`, `tls`, `negotiate` and `connect` are the steps to a proxy or a destination,
//!   each a future; `negotiate` runs `connect` again when the proxy wants another connection;
//!   `proxy_header` reads what a balancer sends first.
//! - `relay` copies or splices; `forward` ends a stream after one request and its reply;
//!   `reject` rejects a client.
//! - `timer` is the time base of all limits, and `ticker` drives it.
//! - `stdio` and `demo` are the modes without listeners of the user; `diagnose` opens the paths of
//!   `--test`.
//! - [`io`] holds the sockets, the streams over them, and the reactor.
//!
//! Code that needs no polling belongs to the crates below. Each future documents its result, the
//! owner of the socket after that, and the effect of dropping it. Threads share the health of proxies,
//! the permits, the resolvers and the listeners' settings; everything else belongs to one thread.
//!
//! # As a library
//!
//! A [`Tunnel`] names a destination and its proxies; an [`Engine`] opens it, on the loop
//! of a tokio-core `Core`:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures::Future;
//! use ptunnel::{Engine, Settings, Tunnel};
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
//! ```
//!
//! PAC files need [`upstream::pac::enable`] at the beginning of `main`, because they run in a child
//! process.
//!
//! `examples/` holds a tunnel with a listener, and a proxy and a tunnel in one process.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod accept;
mod added_listeners;
mod connect;
mod demo;
mod diagnose;
mod dial;
mod engine;
mod forward;
mod future;
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

pub use self::connect::{Connect, ConnectFailure};
pub use self::diagnose::open_path;
pub use self::engine::{Engine, Settings};
pub use self::forward::forwarding;
pub use self::future::BoxFuture;
use self::future::{boxed, poll_with};
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
