//! The future that ticks a thread's timer while a limit is running, on any reactor's timers.
//!
//! ```text
//!   idle: no interval ──a limit starts──▶ ticking ──the last limit is dropped──▶ idle
//! ```

use std::io;
use std::time::{Duration, Instant};

use futures::{future, Async, Future, Stream};

use crate::timer::TaskTimer;

/// Ticks `timer` with intervals of its period, which `make` returns, one at a time. Never resolves;
/// fails if an interval does.
///
/// It has no interval while no limit is running, and a tick allocates nothing. Dropping it stops the
/// timer.
pub fn ticker<I>(
    timer: TaskTimer,
    make: impl Fn(Duration) -> io::Result<I>,
) -> impl Future<Item = (), Error = io::Error>
where
    I: Stream<Error = io::Error>,
{
    let mut running = None;
    future::poll_fn(move || loop {
        if timer.is_idle() {
            running = None;
            return Ok(Async::NotReady);
        }
        let interval = match &mut running {
            Some(interval) => interval,
            None => running.get_or_insert(make(timer.period())?),
        };
        match interval.poll()? {
            Async::Ready(_) => timer.tick(Instant::now()),
            Async::NotReady => return Ok(Async::NotReady),
        }
    })
}
