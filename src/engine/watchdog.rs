//! The heartbeat of one thread's loop, for the service manager's watchdog.

use futures::{Future, Stream};
use log::error;
use tokio_core::reactor::Interval;

use super::Engine;
use crate::error::Error;
use crate::os::sd_notify::Heartbeat;

impl Engine {
    /// Sends a beat each period for as long as this engine's loop runs, if the service manager has
    /// a watchdog.
    ///
    /// # Errors
    ///
    /// `Error::other` if tokio-core has no room for another timer.
    pub fn watchdog(&self, heartbeat: Heartbeat) -> Result<(), Error> {
        let period = match heartbeat.period() {
            Some(period) => period,
            None => return Ok(()),
        };
        // tokio-core's loop wakes the task, and the engine's run queue polls it, so both must run.
        let ticks = Interval::new(period, self.handle().core())
            .map_err(|e| Error::other("cannot set a timer", e))?;
        let beating = ticks.for_each(move |()| {
            heartbeat.beat();
            Ok(())
        });
        let stopped = |e| error!("the watchdog's timer stopped: {}", e);
        self.handle().spawn_critical(beating.map_err(stopped));
        Ok(())
    }
}
