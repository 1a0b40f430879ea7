//! The heartbeat of one thread's loop, for the service manager's watchdog.

use tokio::time::interval;
use tokio_core_compat::task::As01;

use super::Engine;
use crate::os::sd_notify::Heartbeat;

impl Engine {
    /// Sends a beat each period for as long as this engine's loop runs, if the service manager has
    /// a watchdog.
    pub fn watchdog(&self, heartbeat: Heartbeat) {
        if heartbeat.period().is_some() {
            // On the Core, since its loop must run, too.
            self.handle().spawn_critical(As01::pin(async {
                beat(heartbeat).await;
                Ok(())
            }));
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
