//! ptunnel on async/await and tokio 1: rung 5, the top of the ladder.
//!
//! The same program as the root, in the same order, from the same pure part:
//!
//! ```text
//!   server ──▶ listen ──▶ session ──▶ dial ──▶ connect ──▶ relay
//!   binds,     awaits     one         names    CONNECT     bytes, both ways,
//!   a runtime  clients    client,     raced    and its     to both ends
//!   per thread            async fn    (8305)   reply
//! ```
//!
//! Code that waits for one event after the other is an `async fn`: `listen`, `session`, `dial`,
//! `tls`, `connect`, `inbound`. [`relay`] polls two directions at once, so it is a future written by
//! hand. Code that never polled ([`ptunnel::config`], [`ptunnel::proto`], [`ptunnel::upstream`],
//! [`ptunnel::observe`] and more) is the root's.
//!
//! The lower rungs (r2 to r4) use the parts that they have migrated; r3 and r4 implement [`Links`] for
//! the parts that are still futures 0.1.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connect;
mod critical;
mod demo;
mod diagnose;
mod dial;
mod inbound;
pub mod io;
mod limits;
mod lingering_close;
mod links;
mod listen;
pub mod relay;
mod resolve;
mod server;
mod session;
pub mod shutdown;
mod stdio;
pub mod system;
mod tls;
mod watchdog;

use std::rc::Rc;
use std::sync::Arc;

use ptunnel::config::{Config, Splice, Timeouts};
use ptunnel::listener::reload::ConfigSource;
use ptunnel::listener::settings::ListenerSettings;
use ptunnel::upstream::Tunnel;
use ptunnel::Error;

pub use self::connect::connect;
pub use self::critical::Critical;
pub use self::diagnose::open_path;
pub use self::dial::dial;
pub use self::limits::{within, Permit, Permits};
pub use self::links::{Connect, Links, Native};
pub use self::listen::{Client, Listener};
pub use self::resolve::Resolver;
pub use self::server::runtime;
pub use self::session::{until_clear, Opened};
pub use self::tls::secure;
pub use self::watchdog::beat;

/// Runs a configuration until a signal, the end of stdin or an error ends it. With a `source`, SIGHUP
/// reloads the listeners from it; without one, SIGHUP ends the program.
///
/// # Errors
///
/// The error that ended it; its [`exit_code`](Error::exit_code) is the program's.
pub fn run<L: Links>(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    if config.demo {
        demo::run::<L>(config)
    } else if let Some(destination) = &config.stdio {
        stdio::run::<L>(config, destination)
    } else {
        server::run::<L>(config, source)
    }
}

/// The settings that the engines of all threads share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The limits of each phase.
    pub timeouts: Arc<Timeouts>,
    /// Whether bulk is carried by splice(2).
    pub splice: Splice,
    /// Resolves the names in the configuration.
    pub resolver: Resolver,
    /// Resolves the names that clients of `-D` and `--serve-proxy` send: these can hang, and must
    /// not delay those of the configuration.
    pub untrusted_resolver: Resolver,
}

impl Settings {
    /// Returns the settings of a configuration, with new resolvers.
    pub fn of(config: &Config) -> Settings {
        Settings {
            timeouts: Arc::new(config.timeouts.clone()),
            splice: config.splice,
            resolver: Resolver::default(),
            untrusted_resolver: Resolver::default(),
        }
    }

    /// Returns the resolver for the tunnel's destination, where that is reached directly.
    pub fn resolver_for(&self, tunnel: &Tunnel) -> &Resolver {
        if tunnel.is_chosen_by_client() {
            &self.untrusted_resolver
        } else {
            &self.resolver
        }
    }
}

/// What the tunnels of one thread share.
pub struct Engine<L> {
    /// The settings that the engine was made with.
    pub settings: Settings,
    /// This thread's links.
    pub links: L,
}

impl<L: Links> Engine<L> {
    /// Returns an engine for this thread, inside the `LocalSet` that runs its tunnels. Its own tasks
    /// are added to the critical ones.
    pub fn new(settings: Settings, critical: &mut Critical) -> Rc<Engine<L>> {
        let links = L::start(&settings, critical);
        Rc::new(Engine { settings, links })
    }

    /// Returns the engine for a listener with these settings: this one, or one with other limits that
    /// shares everything else.
    fn on(self: &Rc<Self>, settings: &ListenerSettings) -> Rc<Engine<L>> {
        let Some(limits) = &settings.limits else {
            return self.clone();
        };
        let settings = Settings {
            timeouts: limits.timeouts.clone(),
            splice: limits.splice,
            ..self.settings.clone()
        };
        let links = self.links.within(&settings);
        Rc::new(Engine { settings, links })
    }
}
