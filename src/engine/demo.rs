//! `--demo` on this engine: one reactor runs both the embedded proxy and the tunnel.

use std::thread;

use super::server::Reactor;
use super::shutdown::Leader;
use super::{Permits, Settings};
use crate::config::Config;
use crate::demo;
use crate::error::Error;

/// Runs the demo, and prints each step with its time on stdout.
///
/// # Errors
///
/// The error of the step that failed.
pub(super) fn run(config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    demo::run(|listeners| {
        let (leader, stop) = Leader::new();
        let reactor = thread::spawn(move || {
            let reactor = Reactor::new(settings, Permits::new(None), &stop)?;
            reactor.accept(listeners)?;
            reactor.follow(&stop)
        });
        move || {
            drop(leader);
            reactor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    })
}
