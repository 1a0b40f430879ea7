//! The future that ticks a thread's timer while a limit is running.
//!
//! ```text
//!   idle: no interval ──a limit starts──▶ ticking ──the last limit is dropped──▶ idle
//! ```

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use tokio::time::{interval_at, MissedTickBehavior};

use crate::timer::TaskTimer;

/// Ticks `timer` with intervals of its period, one at a time. Never resolves.
///
/// It has no interval while no limit is running, and a tick allocates nothing. Dropping it stops the
/// timer.
pub async fn ticker(timer: TaskTimer) {
    let period = timer.period();
    loop {
        poll_fn(|cx| match timer.is_idle(cx) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
        // Not `interval`, which has its first tick at once; nor bursts after a delay (row 52).
        let mut running = interval_at(tokio::time::Instant::now() + period, period);
        running.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !poll_fn(|cx| Poll::Ready(timer.is_idle(cx))).await {
            running.tick().await;
            timer.tick(Instant::now());
        }
    }
}
