//! The program with listeners, from its configuration to its end: all of it async, but the tunnels.

use std::thread;

use futures01::sync::mpsc;
use ptunnel::config::Config;
use ptunnel::engine::{open_path, Permits, Settings};
use ptunnel::listener::reload::{ConfigSource, Reload};
use ptunnel::listener::set::ListenerSet;
use ptunnel::os::sd_notify::{Heartbeat, ServiceManager};
use ptunnel::Error;
use ptunnel_r5::beat;
use ptunnel_r5::shutdown::{lead, DrainEnd, ShutdownPhase, ShutdownPhases, Signals};
use ptunnel_r5::system::{monotonic, raise_descriptor_limit};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_core_compat::task::AsStd;

use crate::hosted;

/// Binds every listener of the configuration, prints each on stdout, and serves until a signal
/// comes and the open tunnels have ended.
///
/// # Errors
///
/// The first bind that fails, before any client is served; a Core that can't start.
pub(crate) async fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    raise_descriptor_limit();
    let service_manager = ServiceManager::of_process(monotonic);
    // Before the first line on stdout: its reader can send a signal right after.
    let signals = Signals::new().map_err(|e| Error::other("cannot catch signals", e))?;
    let permits = Permits::new(config.max_connections);
    let settings = Settings::of(config);
    let (phase, phases) = ShutdownPhases::new();
    let mut cores = JoinSet::new();
    let reload = source.map(Reload::at_hangup).transpose()?;
    let (listeners, threads) = ListenerSet::open(config, open_path)?;
    let (senders, later): (Vec<_>, Vec<_>) = threads.iter().map(|_| mpsc::unbounded()).unzip();
    if let Some(reload) = reload {
        reload.start(
            config,
            listeners,
            &service_manager,
            move |thread, delivery| {
                // Fails if the Core has ended; then the reload gets no answer, and fails too.
                let _ = senders[thread].unbounded_send(delivery);
            },
        )?;
    }
    // The last thread is this one.
    let mut heartbeats = service_manager.heartbeats(threads.len() + 1);
    tokio::spawn(beat(heartbeats.remove(threads.len())));
    let threads = threads.into_iter().zip(later).zip(heartbeats);
    for (index, (listeners, heartbeat)) in threads.enumerate() {
        let core = hosted::core(&format!("reactor-{}", index + 1))?;
        let (settings, permits, phases) = (settings.clone(), permits.clone(), phases.clone());
        cores.spawn(hosted::serve(
            core, listeners, settings, heartbeat, permits, phases,
        ));
    }
    let idle = async {
        // The root's own future, notified by its Cores, awaited on this runtime.
        let _ = AsStd::new(permits.idle()).await;
    };
    let (limit, clients) = (config.timeouts.drain, || permits.clients());
    tokio::select! {
        end = lead(signals, &phase, &service_manager, limit, clients, idle) => {
            if end == DrainEnd::Forced {
                return Ok(()); // the end of the process ends the threads
            }
        }
        Some(early) = cores.join_next() => return joined(early),
    }
    while let Some(outcome) = cores.join_next().await {
        joined(outcome)?;
    }
    Ok(())
}

fn joined(outcome: Result<Result<(), Error>, tokio::task::JoinError>) -> Result<(), Error> {
    outcome.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()))
}

/// Runs the demo, and prints each step with its time on stdout.
///
/// # Errors
///
/// The error of the step that failed.
pub(crate) fn demo(runtime: Runtime, config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    ptunnel::demo::run(|listeners| {
        let (phase, phases) = ShutdownPhases::new();
        // The demo's client blocks this thread: a future that waits here would not be polled.
        let main = thread::spawn(move || {
            let core = hosted::core("reactor-1")?;
            let permits = Permits::new(None);
            let (listeners, heartbeat) = ((listeners, mpsc::unbounded().1), Heartbeat::default());
            runtime.block_on(hosted::serve(
                core, listeners, settings, heartbeat, permits, phases,
            ))
        });
        move || {
            phase.send_replace(ShutdownPhase::Ending);
            main.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    })
}
