//! The heartbeat of one thread's event loop, for the service manager's watchdog.

use ptunnel::os::sd_notify::Heartbeat;
use tokio::time::interval;

/// Sends heartbeats while the event loop polls this. Ends at once if there is no watchdog.
pub async fn beat(heartbeat: Heartbeat) {
    let Some(period) = heartbeat.period() else {
        return;
    };
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        heartbeat.beat();
    }
}
