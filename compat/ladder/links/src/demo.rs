//! `--demo` on this engine: one thread for the proxy and the tunnel.

use std::thread;

use ptunnel::config::Config;
use ptunnel::os::sd_notify::Heartbeat;
use ptunnel::Error;
use tokio::sync::mpsc;

use crate::server::Worker;
use crate::shutdown::{ShutdownPhase, ShutdownPhases};
use crate::{Links, Permits, Settings};

/// Runs the demo, and prints each step with its time on stdout.
///
/// # Errors
///
/// The error of the step that failed.
pub(crate) fn run<L: Links>(config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    ptunnel::demo::run(|listeners| {
        let (phase, phases) = ShutdownPhases::new();
        let worker = Worker {
            listeners,
            later: mpsc::unbounded_channel().1,
            settings,
            heartbeat: Heartbeat::default(),
            permits: Permits::new(None),
            phases,
        };
        let reactor = thread::spawn(move || worker.run::<L>());
        phase.send_replace(ShutdownPhase::Serving);
        move || {
            phase.send_replace(ShutdownPhase::Ending);
            reactor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    })
}
