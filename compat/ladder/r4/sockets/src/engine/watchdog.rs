//! The heartbeat of one thread's loop, for the service manager's watchdog.

use tokio::time::interval;

use super::Engine;
use crate::os::sd_notify::Heartbeat;

impl Engine {
    /// Sends a beat each period for as long as this engine's loop runs, if the service manager has
    /// a watchdog.
    pub fn watchdog(&self, heartbeat: Heartbeat) {
        if heartbeat.period().is_some() {
            self.handle().spawn_critical(beat(heartbeat));
        }
    }
}

/// Sends a beat each period for as long as it is polled. Ends at once if there is no watchdog.
pub(super) async fn beat(heartbeat: Heartbeat) {
    let period = match heartbeat.period() {
        Some(period) => period,
        None => return,
    };
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        heartbeat.beat();
    }
}
