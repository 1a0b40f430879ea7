//! The program with listeners: binds them, serves on every thread, and drains after a signal.
//!
//! ```text
//!   bind ──▶ serving ──signal──▶ draining ──▶ drained, timed out or forced ──▶ end
//!              └──────── a thread fails or panics ─────────────────────────────┘
//! ```
//!
//! The first thread receives the signals and leads the others, each of which has a [`Worker`] with its
//! own runtime, through the phases of `shutdown`.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

use log::{info, warn};
use tokio::sync::mpsc;

use crate::io::runtime;
use crate::io::{BoundSocket, Handle};
use crate::periodic::{beat, every};
use crate::shutdown::{lead, DrainEnd, ShutdownPhase, ShutdownPhases, Signals};
use crate::{Engine, Permits, Settings};
use ptunnel_core::config::Config;
use ptunnel_core::error::Error;
use ptunnel_core::listener::bind::BoundListener;
use ptunnel_core::listener::reload::{ConfigSource, Delivery, Reload};
use ptunnel_core::listener::set::ListenerSet;
use ptunnel_core::observe::limits::{self, LimitWatch};
use ptunnel_core::os::sd_notify::{Heartbeat, ServiceManager};
use ptunnel_core::os::sys;

/// Binds every listener of the configuration, prints each on stdout, and serves until a signal comes
/// and the open tunnels have ended.
///
/// # Errors
///
/// The first bind that fails, before any client is served; the first thread that fails.
pub(super) fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    match sys::raise_descriptor_limit() {
        Ok(limit) => info!("limit of file descriptors: {}", limit),
        Err(e) => warn!("cannot raise the limit of file descriptors: {}", e),
    }
    // Before any thread starts, because this changes the environment.
    let service_manager = ServiceManager::of_process(sys::monotonic);
    let runtime = runtime()?;
    runtime.block_on(async {
        // Before the first line on stdout: its reader can send a signal at once.
        let signals = Signals::new().map_err(|e| Error::other("cannot catch signals", e))?;
        let reload = source.map(Reload::at_hangup).transpose()?;
        let (listeners, threads) = ListenerSet::open(config, super::open_path)?;
        let (senders, later): (Vec<_>, Vec<_>) =
            threads.iter().map(|_| mpsc::unbounded_channel()).unzip();
        if let Some(reload) = reload {
            let deliver = move |thread: usize, delivery| {
                // Fails if the thread has ended. Then the reload gets no answer, and fails too.
                let _ = senders[thread].send(delivery);
            };
            reload.start(config, listeners, &service_manager, deliver)?;
        }
        let settings = Settings::of(config);
        let permits = Permits::new(config.max_connections);
        let (mut watch, counted) = (LimitWatch::new(config.max_connections), permits.clone());
        let look = every(limits::PAUSE, move || watch.look(counted.clients()));
        let (phase, phases) = ShutdownPhases::new();
        let (sender, mut ended) = mpsc::unbounded_channel();
        // The last thread is this one.
        let mut heartbeats = service_manager.heartbeats(threads.len() + 1);
        let beat = beat(heartbeats.remove(threads.len()));
        let threads = threads.into_iter().zip(later).zip(heartbeats);
        for (index, ((listeners, later), heartbeat)) in threads.enumerate() {
            let worker = Worker {
                listeners,
                later,
                settings: settings.clone(),
                heartbeat,
                permits: permits.clone(),
                phases: phases.clone(),
            };
            let sender = sender.clone();
            thread::Builder::new()
                .name(format!("reactor-{}", index + 1))
                .spawn(move || sender.send(catch_unwind(AssertUnwindSafe(|| worker.run()))))
                .map_err(|e| Error::other("cannot start a thread", e))?;
        }
        drop(sender);
        let (limit, clients, idle) = (config.timeouts.drain, || permits.clients(), permits.idle());
        tokio::select! {
            end = lead(signals, &phase, &service_manager, limit, clients, idle) => {
                if end == DrainEnd::Forced {
                    return Ok(()); // the end of the process ends the threads
                }
            }
            Some(early) = ended.recv() => return joined(early),
            // Not tasks, whose panics nothing would report.
            _ = async { tokio::join!(look, beat) } => unreachable!("a look follows the other"),
        }
        while let Some(outcome) = ended.recv().await {
            joined(outcome)?;
        }
        Ok(())
    })
}

/// Returns the result of another thread, or panics with its panic.
fn joined(outcome: thread::Result<Result<(), Error>>) -> Result<(), Error> {
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The parameters of one thread.
pub(super) struct Worker {
    pub(super) listeners: Vec<BoundListener<BoundSocket>>,
    /// The listeners that reloads add.
    pub(super) later: mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
    pub(super) settings: Settings,
    pub(super) heartbeat: Heartbeat,
    pub(super) permits: Permits,
    pub(super) phases: ShutdownPhases,
}

impl Worker {
    /// Serves on this thread until the last phase, and cuts the tunnels that are left.
    pub(super) fn run(self) -> Result<(), Error> {
        let Worker {
            listeners,
            mut later,
            settings,
            heartbeat,
            permits,
            phases,
        } = self;
        Handle::run(|handle| async move {
            let engine = Engine::new(&handle, settings);
            engine.watchdog(heartbeat);
            let accept = |listener| {
                let phases = phases.clone();
                let stopped = async move { phases.reached(ShutdownPhase::Draining).await };
                engine.accept(listener, &permits, stopped)
            };
            listeners.into_iter().try_for_each(accept)?;
            loop {
                tokio::select! {
                    () = phases.reached(ShutdownPhase::Ending) => return Ok(()),
                    Some(delivery) = later.recv() => delivery.accept(accept),
                }
            }
        })?
    }
}
