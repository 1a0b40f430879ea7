//! The sign of life of one thread's loop, for the service manager's watchdog.

use ptunnel::os::sd_notify::Heartbeat;
use tokio::time::interval;

/// Lets `pulse` beat for as long as the loop turns that polls this. Ends at once when nobody looks
/// at it, else never.
pub async fn beat(pulse: Heartbeat) {
    let Some(period) = pulse.period() else {
        return;
    };
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        pulse.beat();
    }
}
