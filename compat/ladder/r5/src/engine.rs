//! What the tunnels of one thread share: the handle, the settings and the timer.

use std::rc::Rc;
use std::sync::Arc;

use ptunnel_core::config::{Config, Timeouts};
use ptunnel_core::listener::settings::Limits;
use ptunnel_core::observe::stats::TunnelBytes;
use ptunnel_proto::values::Splice;

use crate::io::{Handle, Transport};
use crate::{ticker, Relay, Resolver, TaskTimer};

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
    pub(crate) fn with_limits(&self, limits: &Limits) -> Engine {
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
