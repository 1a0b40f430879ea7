//! Everything that polls, on async/await and tokio 1. Its files have the names and the order of the
//! root's.
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
//!   each phase; `watchdog` reports to the service manager.
//! - `resolve`, `dial`, `tls`, `negotiate` and `connect` are the steps to a proxy or a destination,
//!   each an `async fn`; `negotiate` runs `connect` again when the proxy wants another connection.
//! - `relay`, a future written by hand, copies or splices; `forward` ends a stream after one request and its reply;
//!   `lingering_close` rejects a client.
//! - `timer` counts idle time, and `ticker` drives it; the other limits are tokio's.
//! - `stdio` and `demo` are the modes without listeners of the user; `diagnose` opens the paths of
//!   `--test`.
//! - [`io`] holds the sockets, the streams over them, and the handle that spawns tasks.
//!
//! An `async fn` keeps its locals to its end. A block or a `Box` ends a socket or frees memory
//! earlier.
//!
//! Threads share the health of proxies, the permits, the resolver and the listeners' settings;
//! everything else belongs to one thread.

mod accept;
mod connect;
mod demo;
mod diagnose;
mod dial;
mod forward;
mod inbound;
pub mod io;
mod limits;
mod lingering_close;
mod listen;
mod negotiate;
mod path;
mod proxy_header;
mod relay;
mod resolve;
mod server;
mod session;
mod shutdown;
mod stdio;
mod ticker;
mod timer;
mod tls;
mod watchdog;

use std::rc::Rc;
use std::sync::Arc;

pub use self::connect::connect;
pub use self::diagnose::open_path;
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

pub use crate::observe::access_log::{ClientSession, LogContext, Origin};
pub use crate::observe::session::{Closed, RelayError, SessionSummary, Side, Traffic};
pub use crate::upstream::{Builder, ProxyChain, ProxySelector, Tunnel};

use crate::config::{Config, Splice, Timeouts};
use crate::engine::io::{Handle, Transport};
use crate::error::Error;
use crate::listener::reload::ConfigSource;
use crate::listener::settings::Limits;
use crate::observe::stats::TunnelBytes;

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

/// The settings that the engines of all threads share.
#[derive(Clone, Default)]
pub struct Settings {
    /// The limits of each phase.
    pub timeouts: Arc<Timeouts>,
    /// Whether bulk is carried by splice(2).
    pub splice: Splice,
    /// Resolves names.
    pub resolver: Resolver,
}

impl Settings {
    /// Returns the settings of a configuration, with a new resolver.
    pub fn of(config: &Config) -> Settings {
        Settings {
            timeouts: Arc::new(config.timeouts.clone()),
            splice: config.splice,
            resolver: Resolver::new(),
        }
    }
}

/// The state that the tunnels of one thread share. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Rc<EngineParts>,
}

struct EngineParts {
    handle: Handle,
    timer: TaskTimer,
    settings: Settings,
}

impl Engine {
    /// Returns an engine on the runtime that runs `handle`.
    pub fn new(handle: &Handle, settings: Settings) -> Engine {
        let timer = TaskTimer::new(settings.timeouts.tick());
        handle.spawn_critical(ticker(timer.clone()));
        Engine::of_parts(handle.clone(), timer, settings)
    }

    /// Returns the handle that spawns tasks.
    pub fn handle(&self) -> &Handle {
        &self.shared.handle
    }

    /// Returns the timer of this thread's limits.
    pub fn timer(&self) -> &TaskTimer {
        &self.shared.timer
    }

    /// Returns the settings that the engine was made with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Returns an engine with other limits, on the same runtime and timer. The period of the timer
    /// stays the same.
    fn with_limits(&self, limits: &Limits) -> Engine {
        let settings = Settings {
            timeouts: limits.timeouts.clone(),
            splice: limits.splice,
            ..self.settings().clone()
        };
        Engine::of_parts(self.handle().clone(), self.timer().clone(), settings)
    }

    fn of_parts(handle: Handle, timer: TaskTimer, settings: Settings) -> Engine {
        Engine {
            shared: Rc::new(EngineParts {
                handle,
                timer,
                settings,
            }),
        }
    }

    /// Carries bytes between two streams, with this engine's limits; `recorder`, if any, counts them
    /// meanwhile.
    pub fn relay<C, U>(&self, client: C, upstream: U, recorder: Option<TunnelBytes>) -> Relay<C, U>
    where
        C: Transport,
        U: Transport,
    {
        Relay::new(client, upstream)
            .splice(self.settings().splice)
            .timeouts(&self.settings().timeouts, self.timer())
            .recorder(recorder)
    }
}
