//! tokio-core's `Timeout` and `Interval`, on tokio 1's clock.
//!
//! Same constructors, same items, same instants. Instead of the Core's handle they take anything
//! that knows a tokio 1 runtime ([`OnRuntime`]): a [`spawn::Handle`](crate::spawn::Handle), tokio's own
//! `Handle`, or [`Current`] for code that has none to pass. They differ from `tokio::time` where
//! tokio-core did:
//!
//! | | tokio-core 0.1.12, and here | tokio 1 |
//! |---|---|---|
//! | the clock starts | at the call of `new` | in an `async` block, at its first poll |
//! | first tick of an interval | after one period | at once |
//! | ticks that were not taken | are skipped, later ones keep their phase | come in a burst |
//!
//! tokio-core 0.1.13 and later have the burst already. Who wants to keep that takes
//! `tokio::time::interval_at`, through [`task::As01`](crate::task::As01) where it has to be a 0.1
//! stream.
//!
//! *Cost*: one allocation when made; none per poll or `reset`. *Cancellation*: dropping one cancels
//! its timer. Nothing here owns a socket.
//!
//! `tokio::time::pause` holds these as well. They may be polled in any 0.1 task, also on a Core's
//! thread, but fire only while their runtime runs. The end of the runtime wakes one that still
//! waits, and it fails with an `io::Error` that says what to do, now and at every later poll. So
//! does one that is polled for the first time only then, but tokio's panic message is printed too:
//! nothing else shows the runtime's end, and a panic that is caught has been printed. (Under `panic = "abort"` that
//! one ends the process.)
//!
//! tokio-core's own timers know nothing of a paused clock:
//! `spawn::Call::in_real_time` is for calls that wait for one.
//!
//! The runtime's time driver has to be enabled (`enable_time`): otherwise tokio panics, when they are
//! made, and says so.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures01::{Async, Future as Future01, Poll as Poll01, Stream as Stream01};
use tokio::runtime;
use tokio::time::{self, Sleep};

use crate::task::{poll_01, Crossing};

/// Something that knows the tokio 1 runtime whose clock a timer is to run on.
pub trait OnRuntime {
    /// That runtime.
    fn runtime(&self) -> runtime::Handle;
}

impl OnRuntime for runtime::Handle {
    fn runtime(&self) -> runtime::Handle {
        self.clone()
    }
}

impl<T: OnRuntime + ?Sized> OnRuntime for &T {
    fn runtime(&self) -> runtime::Handle {
        (**self).runtime()
    }
}

/// The runtime inside of which the timer is made.
///
/// That is any place where `tokio::runtime::Handle::current` works: a task, `block_on`, the guard
/// of `enter`, and the thread of a [`CoreThread`](crate::core_thread::CoreThread) that was itself made in
/// such a place.
///
/// ```
/// use std::time::Duration;
/// use tokio_core_compat::{task::AsStd, time::{Current, Timeout}};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> std::io::Result<()> {
/// AsStd::new(Timeout::new(Duration::from_secs(10), &Current)?).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Current;

impl OnRuntime for Current {
    /// # Panics
    ///
    /// Outside of any runtime.
    #[track_caller]
    fn runtime(&self) -> runtime::Handle {
        match runtime::Handle::try_current() {
            Ok(runtime) => runtime,
            Err(_) => panic!(
                "a timer was made with time::Current outside a tokio 1 runtime: give it a handle \
                 of the runtime instead, make it inside of one, or, if this is the thread of a \
                 core_thread::CoreThread, call CoreThread::new inside of one; on a thread of an \
                 executor's pool, wrap what makes it in a task::InRuntime"
            ),
        }
    }
}

/// A 0.1 future that resolves once an instant has passed.
///
/// Polled again after that, it is ready again, until [`reset`](Timeout::reset). *Budget*: it spends
/// none, and is ready though none is left, so that it ends a task that is always ready.
///
/// ```
/// use std::time::Duration;
/// use futures01::{Async, Future as _};
/// use tokio_core_compat::{task::AsStd, time::Timeout};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> std::io::Result<()> {
/// let runtime = tokio::runtime::Handle::current();
/// let timeout = Timeout::new(Duration::from_secs(10), &runtime)?;
/// // Counts from here on, polled or not.
/// tokio::time::advance(Duration::from_secs(10)).await;
/// AsStd::new(timeout).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Timeout {
    timer: Timer,
    crossing: Crossing,
}

impl Timeout {
    /// Resolves `duration` from now.
    ///
    /// # Errors
    ///
    /// When the instant is too far away for the clock. tokio-core panicked.
    pub fn new(duration: Duration, handle: &impl OnRuntime) -> io::Result<Timeout> {
        let runtime = handle.runtime();
        let at = after(now(&runtime), duration)?;
        Ok(Timeout::at(at, runtime))
    }

    /// Resolves at `at`, or at once when that has passed.
    ///
    /// # Errors
    ///
    /// Never: the `Result` is tokio-core's, which needed its Core.
    pub fn new_at(at: Instant, handle: &impl OnRuntime) -> io::Result<Timeout> {
        Ok(Timeout::at(at.into(), handle.runtime()))
    }

    fn at(at: time::Instant, runtime: runtime::Handle) -> Timeout {
        Timeout {
            timer: Timer::new(at, runtime),
            crossing: Crossing::default(),
        }
    }

    /// Sets a new instant, whether or not the old one has passed. A task that waits for this must
    /// poll it again.
    pub fn reset(&mut self, at: Instant) {
        self.timer.reset(at.into());
    }
}

impl Future01 for Timeout {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<(), io::Error> {
        if self.timer.is_due() {
            return Ok(Async::Ready(()));
        }
        let timer = &mut self.timer;
        let what = "a time::Timeout";
        poll_01(self.crossing.enter(what, |cx| timer.poll(what, cx)))
    }
}

impl fmt::Debug for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("at", &self.timer.sleep.deadline())
            .finish()
    }
}

/// A 0.1 stream that yields `()` once a period and never ends. *Budget*: that of a stream in
/// [`task::As01`](crate::task#budget).
///
/// ```
/// use std::time::Duration;
/// use futures01::Stream as _;
/// use futures_util::TryStreamExt as _;
/// use tokio_core_compat::{task::AsStd, time::{Current, Interval}};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> std::io::Result<()> {
/// let start = tokio::time::Instant::now();
/// let ticks = Interval::new(Duration::from_secs(10), &Current)?;
/// AsStd::new(ticks.take(3)).try_collect::<Vec<()>>().await?;
/// assert_eq!(start.elapsed().as_secs(), 30);
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct Interval {
    timer: Timer,
    period: Duration,
    crossing: Crossing,
}

impl Interval {
    /// Ticks `period` from now, and once a `period` after that.
    ///
    /// # Errors
    ///
    /// When `period` is zero, or the first instant too far away for the clock. tokio-core panicked,
    /// for zero at the first tick.
    pub fn new(period: Duration, handle: &impl OnRuntime) -> io::Result<Interval> {
        let runtime = handle.runtime();
        let at = after(now(&runtime), period)?;
        Interval::from(at, period, runtime)
    }

    /// Ticks at `at`, and once a `period` after that.
    ///
    /// # Errors
    ///
    /// When `period` is zero.
    pub fn new_at(at: Instant, period: Duration, handle: &impl OnRuntime) -> io::Result<Interval> {
        Interval::from(at.into(), period, handle.runtime())
    }

    fn from(at: time::Instant, period: Duration, runtime: runtime::Handle) -> io::Result<Interval> {
        if period.is_zero() {
            return Err(invalid("an interval needs a period above zero"));
        }
        Ok(Interval {
            timer: Timer::new(at, runtime),
            period,
            crossing: Crossing::default(),
        })
    }
}

impl Stream01 for Interval {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<Option<()>, io::Error> {
        let timer = &mut self.timer;
        let what = "a time::Interval";
        let polled = poll_01(self.crossing.poll(what, |cx| timer.poll(what, cx)))?;
        if polled.is_ready() {
            let due = self.timer.sleep.deadline();
            let now = now(&self.timer.runtime);
            self.timer.reset(next_tick(due, now, self.period)?);
        }
        Ok(polled.map(Some))
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("next", &self.timer.sleep.deadline())
            .field("period", &self.period)
            .finish()
    }
}

/// The first instant after `now` that lies a whole number of periods after `due`.
fn next_tick(
    due: time::Instant,
    now: time::Instant,
    period: Duration,
) -> io::Result<time::Instant> {
    let next = after(due, period)?;
    if next > now {
        return Ok(next);
    }
    // Not tokio's `MissedTickBehavior::Skip`: it lets ticks up to 5 ms late burst.
    let since_tick = now.duration_since(due).as_nanos() % period.as_nanos();
    let since_tick = Duration::new(
        u64::try_from(since_tick / 1_000_000_000).expect("less than a period"),
        u32::try_from(since_tick % 1_000_000_000).expect("less than a second"),
    );
    after(now, period - since_tick)
}

/// The time on the clock of `runtime`, which a test may have stopped; its threads alone would see
/// that by themselves.
fn now(runtime: &runtime::Handle) -> time::Instant {
    let _inside = runtime.enter();
    time::Instant::now()
}

fn after(start: time::Instant, duration: Duration) -> io::Result<time::Instant> {
    start
        .checked_add(duration)
        .ok_or_else(|| invalid("the clock ends before that instant"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// What a timer says whose runtime has ended before its time.
fn outlived(what: &str) -> io::Error {
    io::Error::other(format!(
        "{what} still waited when its tokio 1 runtime ended: end first what waits for it (for a \
         Core, await CoreThread::shutdown inside of the runtime), or make it with the handle of a \
         runtime that lasts longer"
    ))
}

/// A tokio 1 timer that may be polled again once it has fired.
struct Timer {
    runtime: runtime::Handle,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    fn new(at: time::Instant, runtime: runtime::Handle) -> Timer {
        let inside = runtime.enter();
        let sleep = Box::pin(time::sleep_until(at));
        drop(inside);
        Timer { runtime, sleep }
    }

    fn reset(&mut self, at: time::Instant) {
        self.sleep.as_mut().reset(at);
    }

    fn is_due(&self) -> bool {
        self.sleep.deadline() <= now(&self.runtime)
    }

    fn poll(&mut self, what: &str, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // In this order: it may fire in between.
        let fired = self.sleep.is_elapsed();
        if self.is_due() {
            return Poll::Ready(Ok(()));
        }
        // The end of a runtime fires what is left; to poll that would panic.
        if fired {
            return Poll::Ready(Err(outlived(what)));
        }
        let sleep = self.sleep.as_mut();
        // After a panic, it had ended before the first poll, or did so since the look above; nothing
        // else in there panics, for the waker is the crossing's.
        catch_unwind(AssertUnwindSafe(|| sleep.poll(cx))).map_or_else(
            |_| Poll::Ready(Err(outlived(what))),
            |polled| polled.map(Ok),
        )
    }
}
