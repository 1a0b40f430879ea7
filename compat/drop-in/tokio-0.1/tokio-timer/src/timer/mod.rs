//! The timer of a thread, and handles of it.

mod handle;
mod queue;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_executor::park::{Park, ParkThread};

pub(crate) use self::handle::Source;
pub use self::handle::{set_default, with_default, DefaultGuard, Handle};
pub(crate) use self::queue::Entry;
use self::queue::Queue;

#[doc(hidden)]
pub use crate::clock::Clock as SystemNow;

/// A source of time for a [`Timer`].
#[doc(hidden)]
#[deprecated(since = "0.2.4", note = "use clock::Now instead")]
pub trait Now {
    /// Returns the present instant.
    fn now(&mut self) -> Instant;
}

/// Fires what waits for it, as often as it is parked or turned; sleeps in the [`Park`] inside.
pub struct Timer<T, N = SystemNow> {
    queue: Arc<Queue>,
    park: T,
    now: N,
}

/// What [`Timer::turn`] did.
#[derive(Debug)]
pub struct Turn(());

impl<T> Timer<T>
where
    T: Park,
{
    /// Returns a timer with the thread's clock.
    pub fn new(park: T) -> Timer<T> {
        Timer::new_with_now(park, SystemNow::new())
    }
}

impl<T, N> Timer<T, N> {
    /// Returns the `Park` inside.
    pub fn get_park(&self) -> &T {
        &self.park
    }

    /// Returns the `Park` inside.
    pub fn get_park_mut(&mut self) -> &mut T {
        &mut self.park
    }
}

#[allow(deprecated)]
impl<T, N> Timer<T, N>
where
    T: Park,
    N: Now,
{
    /// Returns a timer with the clock `now`.
    pub fn new_with_now(park: T, mut now: N) -> Timer<T, N> {
        let queue = Arc::new(Queue::new(now.now(), Box::new(park.unpark())));
        Timer { queue, park, now }
    }

    /// Returns a handle, which makes what waits for this timer.
    pub fn handle(&self) -> Handle {
        Handle::of_timer(self.queue.clone())
    }

    /// Waits once, for `max_wait` at most, and fires what is due.
    ///
    /// # Errors
    ///
    /// Those of the `Park` inside.
    pub fn turn(&mut self, max_wait: Option<Duration>) -> Result<Turn, T::Error> {
        self.wait(max_wait)?;
        Ok(Turn(()))
    }

    fn wait(&mut self, max_wait: Option<Duration>) -> Result<(), T::Error> {
        let next = self
            .queue
            .next()
            .map(|at| at.saturating_duration_since(self.now.now()));
        match (next, max_wait) {
            (None, None) => self.park.park()?,
            (Some(wait), None) | (None, Some(wait)) => self.park.park_timeout(wait)?,
            (Some(next), Some(max)) => self.park.park_timeout(next.min(max))?,
        }
        self.queue.fire(self.now.now());
        Ok(())
    }
}

impl Default for Timer<ParkThread, SystemNow> {
    fn default() -> Timer<ParkThread, SystemNow> {
        Timer::new(ParkThread::new())
    }
}

#[allow(deprecated)]
impl<T, N> Park for Timer<T, N>
where
    T: Park,
    N: Now,
{
    type Unpark = T::Unpark;
    type Error = T::Error;

    fn unpark(&self) -> T::Unpark {
        self.park.unpark()
    }

    fn park(&mut self) -> Result<(), T::Error> {
        self.wait(None)
    }

    fn park_timeout(&mut self, duration: Duration) -> Result<(), T::Error> {
        self.wait(Some(duration))
    }
}

/// What waits for it fails.
impl<T, N> Drop for Timer<T, N> {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl<T: fmt::Debug, N: fmt::Debug> fmt::Debug for Timer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("queue", &self.queue)
            .field("park", &self.park)
            .field("now", &self.now)
            .finish()
    }
}
