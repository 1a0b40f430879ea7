//! Ticks the root's clock, for as long as somebody watches it: its `Ticker`, on tokio 1's timer.

use std::time::Instant;

use futures01::{future, Async};
use ptunnel::engine::Clock;
use ptunnel_compat::task::AsStd;
use tokio::time::{interval_at, MissedTickBehavior};

/// Never ends.
pub(crate) async fn run(clock: Clock) {
    let period = clock.period();
    loop {
        somebody_is_watched(&clock).await;
        // tokio-core's `Interval` ticked first after a period, and skipped what it had missed.
        let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while is_watched(&clock).await {
            ticks.tick().await;
            clock.tick(Instant::now());
        }
    }
}

/// `Clock::is_idle` remembers the current 0.1 task, so it has to be asked inside of one.
async fn somebody_is_watched(clock: &Clock) {
    let watched = future::poll_fn(|| match clock.is_idle() {
        true => Ok::<_, ()>(Async::NotReady),
        false => Ok(Async::Ready(())),
    });
    // It has no way to fail.
    let _ = AsStd::new(watched).await;
}

async fn is_watched(clock: &Clock) -> bool {
    AsStd::new(future::lazy(|| Ok::<_, ()>(!clock.is_idle())))
        .await
        .unwrap_or(false)
}
