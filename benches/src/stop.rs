//! Ctrl-C as a question that every loop asks: what was measured until then is kept.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set by the first SIGINT or SIGTERM; a second one ends the process at once.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn check(&self) -> io::Result<()> {
        if self.asked() {
            Err(io::Error::other("interrupted"))
        } else {
            Ok(())
        }
    }
}
