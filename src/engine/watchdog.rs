//! The sign of life of one thread's loop, for the service manager's watchdog.

use futures::{Future, Stream};
use log::error;
use tokio_core::reactor::Interval;

use super::Engine;
use crate::error::Error;
use crate::os::sd_notify::Heartbeat;

impl Engine {
    /// Lets `pulse` beat for as long as this engine's loop turns, if anybody looks at it.
    ///
    /// # Errors
    ///
    /// When there is no timer for it.
    pub fn beat(&self, pulse: Heartbeat) -> Result<(), Error> {
        let period = match pulse.period() {
            Some(period) => period,
            None => return Ok(()),
        };
        // Woken by tokio-core, polled by our own queue: both have to turn.
        let ticks = Interval::new(period, self.handle().core())
            .map_err(|e| Error::other("cannot set a timer", e))?;
        let beating = ticks.for_each(move |()| {
            pulse.beat();
            Ok(())
        });
        let stopped = |e| error!("the watchdog's timer stopped: {}", e);
        self.handle().spawn_critical(beating.map_err(stopped));
        Ok(())
    }
}
