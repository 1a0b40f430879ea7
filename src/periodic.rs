//! What one thread's loop does at intervals, such as the heartbeat for the service manager's watchdog.

use std::time::Duration;

use futures::{Future, Stream};
use log::error;

use crate::Engine;
use ptunnel_core::error::Error;
use ptunnel_core::os::sd_notify::Heartbeat;

impl Engine {
    /// Sends a beat each period for as long as this engine's loop runs, if the service manager has
    /// a watchdog.
    ///
    /// # Errors
    ///
    /// `Error::other` if there is no descriptor or no room for another timer.
    pub fn watchdog(&self, heartbeat: Heartbeat) -> Result<(), Error> {
        let period = match heartbeat.period() {
            Some(period) => period,
            None => return Ok(()),
        };
        self.every(period, move || heartbeat.beat())
    }

    /// Calls `tick` after each period for as long as this engine's loop runs.
    ///
    /// # Errors
    ///
    /// `Error::other` if there is no descriptor or no room for another timer.
    pub(super) fn every(
        &self,
        period: Duration,
        mut tick: impl FnMut() + 'static,
    ) -> Result<(), Error> {
        // The loop reports the timer, and the engine's run queue polls the task, so both must run.
        let ticks = self
            .handle()
            .interval(period)
            .map_err(|e| Error::other("cannot set a timer", e))?;
        let ticking = ticks.for_each(move |()| {
            tick();
            Ok(())
        });
        let stopped = |e| error!("a timer stopped: {}", e);
        self.handle().spawn_critical(ticking.map_err(stopped));
        Ok(())
    }
}
