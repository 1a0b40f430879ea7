//! What one thread's loop does at intervals, such as the heartbeat for the service manager's watchdog.

use std::time::Duration;

use tokio::time::interval;

use crate::Engine;
use ptunnel_core::os::sd_notify::Heartbeat;

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
    if let Some(period) = heartbeat.period() {
        every(period, move || heartbeat.beat()).await;
    }
}

/// Calls `tick` after each period for as long as it is polled.
pub(super) async fn every(period: Duration, mut tick: impl FnMut()) {
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        tick();
    }
}
