//! Everything that polls, on futures 0.1 and tokio-core.
//!
//! A tunnel's life, in the order in which its parts are written down:
//!
//! ```text
//!   server ──▶ listen ──▶ session ──▶ dial ──▶ connect ──▶ relay
//!   bind all,   a Stream   the chain   names    CONNECT     bytes, both ways,
//!   a reactor   of         of one      raced    and its     to both ends
//!   per thread  clients    client      (8305)   reply
//! ```
//!
//! - `server` binds, starts the reactors and drains them; `shutdown` hears the signals,
//!   `pulse` shows that a loop turns, `reload` changes what a running one does.
//! - `listen` accepts, `limits` says how many and how long.
//! - `session` is the chain; [`upstream`](crate::upstream) knows which proxy is next and what is
//!   asked for, [`access_log`](crate::observe::access_log) what is said of the end.
//! - `resolve`, `dial`, `secure` (TLS, where the peer speaks it), `connect` and `relay` are its
//!   links, hand-written futures; `ask` goes from one connection to the next when a proxy wants
//!   that; `ticker` keeps the `clock`.
//! - `stdio` makes standard input and output a client, `dynamic` hears clients who name their
//!   destination themselves, `forward` lets one request of theirs and its reply through and no
//!   other, `proxy` is the other side of CONNECT, `parting` says no for both, `demo` shows all of it
//!   in one process.
//!
//! Every future says what it resolves to and who owns the socket afterwards. Nothing crosses
//! threads but the list of failed proxies, the count of clients, the resolver's answers and what a
//! reload brings.

mod connect;
mod demo;
mod dial;
mod forward;
mod inbound;
pub mod io;
mod limits;
mod lingering_close;
mod listen;
mod negotiate;
mod relay;
mod reload;
mod resolve;
mod server;
mod session;
mod shutdown;
mod stdio;
mod ticker;
mod timer;
mod tls;
mod watchdog;

use std::io as std_io;
use std::rc::Rc;
use std::time::Duration;

use futures::Future;
use log::error;
use tokio_core::reactor::{Handle as CoreHandle, Interval};

pub use self::connect::{Connect, ConnectFailure};
pub use self::dial::Dial;
pub use self::forward::forwarding;
pub use self::limits::{Deadline, Idle, Permit, Permits};
pub use self::listen::{Client, Listener};
pub use self::negotiate::negotiate;
pub use self::relay::{IdleTimeouts, Relay};
pub use self::resolve::{Lookup, Resolver};
pub use self::server::{BoundListener, Delivery};
pub use self::session::{AbortOnReset, Opened};
pub use self::shutdown::{SignalPipe, Signals};
pub use self::ticker::Ticker;
pub use self::timer::Clock;
pub use self::tls::secure;

pub use crate::observe::access_log::{ClientSession, LogContext, Origin};
pub use crate::observe::session::{Closed, RelayError, SessionSummary, Side, Traffic};
pub use crate::upstream::{Builder, ProxySelector, Tunnel, UpstreamPath};

use crate::config::{Config, Splice, Timeouts};
use crate::engine::io::{Handle, Transport};
use crate::error::Error;
use crate::listener::reload::ConfigSource;
use crate::observe::stats::ByteRecorder;

/// Does what the configuration says, until a signal, the end of stdin or an error ends it. With a
/// source the listeners follow it at SIGHUP, which ends the program otherwise.
///
/// # Errors
///
/// What ended it; its [`exit_code`](Error::exit_code) is the program's.
pub fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    if config.demo {
        demo::run(config)
    } else if let Some(destination) = &config.stdio {
        stdio::run(config, destination)
    } else {
        server::run(config, source)
    }
}

/// What the engines of all threads have in common.
#[derive(Clone, Default)]
pub struct Settings {
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Whether bulk goes by splice(2).
    pub splice: Splice,
    /// Resolves the names of the configuration for all of them.
    pub resolver: Resolver,
    /// Resolves the names that clients ask for, of `-D` and of the embedded proxy: theirs may
    /// hang, and shall not keep ours waiting.
    pub untrusted_resolver: Resolver,
}

impl Settings {
    /// Those of a configuration, with a resolver of their own.
    pub fn of(config: &Config) -> Settings {
        Settings {
            timeouts: config.timeouts.clone(),
            splice: config.splice,
            resolver: Resolver::new(),
            untrusted_resolver: Resolver::new(),
        }
    }

    /// Who resolves the tunnel's destination, where that is reached directly.
    fn resolver_for(&self, tunnel: &Tunnel) -> &Resolver {
        if tunnel.is_of_guest() {
            &self.untrusted_resolver
        } else {
            &self.resolver
        }
    }
}

/// One thread's part of the work: a reactor and what its tunnels share. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Rc<EngineParts>,
}

struct EngineParts {
    handle: Handle,
    clock: Clock,
    settings: Settings,
    idle_timeouts: Rc<IdleTimeouts>,
}

impl Engine {
    /// An engine on `core`'s loop, which must run for anything to happen.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for its epoll set.
    pub fn new(core: &CoreHandle, settings: Settings) -> std_io::Result<Engine> {
        let handle = Handle::new(core)?;
        let clock = Clock::new(tick(&settings.timeouts));
        let core = core.clone();
        let ticker = Ticker::new(clock.clone(), move |period| Interval::new(period, &core));
        handle.spawn_vital(ticker.map_err(|e| error!("the clock stopped: {}", e)));
        Ok(Engine {
            shared: Rc::new(EngineParts {
                handle,
                clock,
                idle_timeouts: Rc::new(IdleTimeouts::from(&settings.timeouts)),
                settings,
            }),
        })
    }

    /// Where sockets are registered and futures are spawned.
    pub fn handle(&self) -> &Handle {
        &self.shared.handle
    }

    /// Limits what takes its time.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Carries bytes between two streams, with this engine's limits.
    pub fn relay<C, U>(&self, client: C, upstream: U) -> Relay<C, U>
    where
        C: Transport,
        U: Transport,
    {
        self.gauged_relay(client, upstream, ())
    }

    /// The same, which lets others see what it has carried so far.
    pub fn gauged_relay<C, U, G>(&self, client: C, upstream: U, gauge: G) -> Relay<C, U, G>
    where
        C: Transport,
        U: Transport,
        G: ByteRecorder,
    {
        Relay::gauged(client, upstream, gauge)
            .splice(self.settings().splice)
            .patience(&self.shared.idle_timeouts, &self.shared.clock)
    }
}

/// A small part of the shortest limit, but no more often than costs nothing.
fn tick(timeouts: &Timeouts) -> Duration {
    let shortest = timeouts
        .idle
        .iter()
        .chain(timeouts.linger.iter())
        .chain(timeouts.half_close_delay.iter())
        .chain(&[timeouts.connect, timeouts.handshake])
        .filter(|limit| **limit > Duration::default())
        .min()
        .copied()
        .unwrap_or_default();
    (shortest / 16)
        .max(Duration::from_millis(5))
        .min(Duration::from_millis(250))
}
