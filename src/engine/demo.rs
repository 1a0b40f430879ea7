//! `--demo` on this engine: one reactor for the proxy and the tunnel.

use std::thread;

use super::server::Reactor;
use super::shutdown::Leader;
use super::{Permits, Settings};
use crate::config::Config;
use crate::demo;
use crate::error::Error;

/// Shows every step with its time on stdout.
///
/// # Errors
///
/// The step that failed, and how.
pub(super) fn run(config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    demo::run(|posts| {
        let (leader, stop) = Leader::new();
        let reactor = thread::spawn(move || {
            let reactor = Reactor::new(settings, Permits::new(None), &stop)?;
            reactor.accept(posts)?;
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
