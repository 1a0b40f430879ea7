//! `--demo` on this engine: one thread runs both the embedded proxy and the tunnel.

use std::thread;

use futures::sync::mpsc;

use super::server::Worker;
use super::shutdown::{ShutdownPhase, ShutdownPhases};
use super::{Permits, Settings};
use crate::config::Config;
use crate::demo;
use crate::error::Error;
use crate::os::sd_notify::Heartbeat;

/// Runs the demo, and prints each step with its time on stdout.
///
/// # Errors
///
/// The error of the step that failed.
pub(super) fn run(config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    demo::run(|listeners| {
        let (phase, phases) = ShutdownPhases::new();
        let worker = Worker {
            listeners,
            later: mpsc::unbounded().1,
            settings,
            heartbeat: Heartbeat::default(),
            permits: Permits::new(None),
            phases,
        };
        let reactor = thread::spawn(move || worker.run());
        move || {
            phase.send_replace(ShutdownPhase::Ending);
            reactor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    })
}
