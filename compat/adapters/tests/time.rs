//! `Timeout` and `Interval`, on a clock that stands still until a test moves it. What tokio-core's
//! own did is shown by rows 51 and 52 of `traps/`.

use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Once;
use std::time::Duration;
use std::{io, panic, thread};

use futures01::executor::{self, Spawn};
use futures01::{Async, Future as _, Stream as _};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{advance, Instant};
use tokio_core_compat::spawn::{Handle, Local};
use tokio_core_compat::task::AsStd;
use tokio_core_compat::time::{Current, Interval, OnRuntime, Timeout};

use crate::common::Bell;

const SECOND: Duration = Duration::from_secs(1);

fn handle() -> Handle {
    Local::new(&tokio::runtime::Handle::current()).handle()
}

/// How many ticks an interval gives right now.
fn ticks(interval: &mut Spawn<Interval>) -> usize {
    let bell = Bell::new();
    let mut ticks = 0;
    while bell.poll_stream_01(interval).unwrap() == Async::Ready(Some(())) {
        ticks += 1;
    }
    ticks
}

#[tokio::test(start_paused = true)]
async fn a_timeout_counts_from_its_making() {
    let timeout = Timeout::new(10 * SECOND, &handle()).unwrap();
    advance(10 * SECOND).await;
    assert_eq!(timeout.wait().unwrap(), ());
}

#[tokio::test(start_paused = true)]
async fn a_timer_takes_whatever_knows_a_runtime() {
    fn resolve_after(handle: &impl OnRuntime) -> impl futures01::Future<Item = (), Error = ()> {
        let first = Timeout::new(SECOND, handle).unwrap();
        let tick = Interval::new(SECOND, &handle).unwrap().into_future();
        first
            .map_err(drop)
            .join(tick.map_err(drop))
            .map(|((), (tick, _))| assert_eq!(tick, Some(())))
    }
    let runtime = tokio::runtime::Handle::current();
    let local = Local::new(&runtime);
    let start = Instant::now();
    AsStd::new(resolve_after(&Current)).await.unwrap();
    AsStd::new(resolve_after(&runtime)).await.unwrap();
    AsStd::new(resolve_after(&local)).await.unwrap();
    AsStd::new(resolve_after(&local.handle())).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 4);
}

#[test]
#[should_panic(expected = "with time::Current outside a tokio 1 runtime: give it a handle")]
fn made_outside_of_a_runtime_it_says_what_to_do() {
    let _ = Timeout::new(SECOND, &Current);
}

#[tokio::test]
#[should_panic(expected = "a time::Timeout was polled outside a futures 0.1 task: await it")]
async fn a_timer_outside_a_task_says_what_to_do() {
    let _ = Timeout::new(SECOND, &handle()).unwrap().poll();
}

#[tokio::test(start_paused = true)]
async fn a_timeout_wakes_its_task_once() {
    let bell = Bell::new();
    let mut task = executor::spawn(Timeout::new(10 * SECOND, &handle()).unwrap());
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::NotReady);
    advance(10 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(
        (bell.rung(), bell.poll_01(&mut task).unwrap()),
        (0, Async::NotReady)
    );
    // The timer wheel has a grain of a millisecond.
    advance(Duration::from_millis(2)).await;
    assert_eq!(
        (bell.rung(), bell.poll_01(&mut task).unwrap()),
        (1, Async::Ready(()))
    );
    // Like tokio-core's, it may be polled again.
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::Ready(()));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_can_be_reset_before_and_after_it_fires() {
    let bell = Bell::new();
    let mut task = executor::spawn(Timeout::new(SECOND, &handle()).unwrap());
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::NotReady);
    task.get_mut()
        .reset((Instant::now() + 5 * SECOND).into_std());
    advance(2 * SECOND).await;
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::NotReady);
    advance(3 * SECOND).await;
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::Ready(()));
    task.get_mut().reset((Instant::now() + SECOND).into_std());
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::NotReady);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_in_the_past_is_ready_at_once() {
    let past = Instant::now().into_std();
    advance(SECOND).await;
    let timeout = Timeout::new_at(past, &handle()).unwrap();
    assert!(AsStd::new(timeout).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_the_clock_cannot_hold_is_an_error() {
    let handle = handle();
    assert!(Timeout::new(Duration::MAX, &handle).is_err());
    assert!(Interval::new(Duration::MAX, &handle).is_err());
    assert!(Interval::new(Duration::ZERO, &handle).is_err());
}

#[tokio::test(start_paused = true)]
async fn an_interval_ticks_first_after_a_period() {
    let mut interval = executor::spawn(Interval::new(SECOND, &handle()).unwrap());
    assert_eq!(ticks(&mut interval), 0);
    advance(SECOND).await;
    assert_eq!(ticks(&mut interval), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interval_can_start_at_once() {
    let now = Instant::now().into_std();
    let mut interval = executor::spawn(Interval::new_at(now, SECOND, &handle()).unwrap());
    assert_eq!(ticks(&mut interval), 1);
}

#[tokio::test(start_paused = true)]
async fn missed_ticks_are_one_and_the_phase_stays() {
    let mut interval = executor::spawn(Interval::new(SECOND, &handle()).unwrap());
    advance(5 * SECOND / 2).await;
    assert_eq!(ticks(&mut interval), 1, "at 2.5 s, for 1 s and 2 s");
    advance(SECOND / 2 - Duration::from_millis(1)).await;
    assert_eq!(ticks(&mut interval), 0, "just before 3 s");
    advance(Duration::from_millis(1)).await;
    assert_eq!(ticks(&mut interval), 1, "at 3 s");
}

/// tokio's `MissedTickBehavior::Skip` gives two here: lateness of up to 5 ms is none to it.
#[tokio::test(start_paused = true)]
async fn a_tick_missed_by_a_hair_is_skipped_too() {
    let period = Duration::from_millis(2);
    let mut interval = executor::spawn(Interval::new(period, &handle()).unwrap());
    advance(2 * period).await;
    assert_eq!(ticks(&mut interval), 1);
}

/// Runtimes of both kinds, which the test may end.
fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.worker_threads(1).enable_time().build().unwrap())
}

/// How many panics of this thread in `f` reach the panic hook, which prints them.
fn panics_told(f: impl FnOnce()) -> usize {
    thread_local!(static TOLD: Cell<usize> = const { Cell::new(0) });
    static COUNT: Once = Once::new();
    COUNT.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            TOLD.set(TOLD.get() + 1);
            tell(panic);
        }));
    });
    TOLD.set(0);
    f();
    TOLD.get()
}

fn says_what_to_do<T: Debug>(polled: io::Result<T>) {
    let error = polled.unwrap_err().to_string();
    assert!(
        error.contains("its tokio 1 runtime ended") && error.contains("CoreThread::shutdown"),
        "{error}"
    );
}

/// It used to panic, in tokio's words.
#[test]
fn a_timer_that_outlives_its_runtime_wakes_and_fails() {
    for runtime in runtimes() {
        let bell = Bell::new();
        let mut timeout = executor::spawn(Timeout::new(100 * SECOND, runtime.handle()).unwrap());
        let mut interval = executor::spawn(Interval::new(100 * SECOND, runtime.handle()).unwrap());
        assert_eq!(bell.poll_01(&mut timeout).unwrap(), Async::NotReady);
        assert_eq!(bell.poll_stream_01(&mut interval).unwrap(), Async::NotReady);
        drop(runtime);
        assert_eq!(bell.rung(), 2);
        let told = panics_told(|| {
            // Again at each poll.
            says_what_to_do(bell.poll_01(&mut timeout));
            says_what_to_do(bell.poll_01(&mut timeout));
            says_what_to_do(bell.poll_stream_01(&mut interval));
            let later = Instant::now() + 200 * SECOND;
            timeout.get_mut().reset(later.into_std());
            says_what_to_do(bell.poll_01(&mut timeout));
        });
        assert_eq!(told, 0);
    }
}

#[test]
fn so_does_one_that_was_not_polled_before() {
    for runtime in runtimes() {
        let bell = Bell::new();
        let mut timeout = executor::spawn(Timeout::new(100 * SECOND, runtime.handle()).unwrap());
        let handle = runtime.handle().clone();
        drop(runtime);
        let mut late = executor::spawn(Timeout::new(100 * SECOND, &handle).unwrap());
        let told = panics_told(|| {
            says_what_to_do(bell.poll_01(&mut timeout));
            says_what_to_do(bell.poll_01(&mut late));
        });
        assert_eq!(told, 2, "the documentation says so");
    }
}

#[test]
fn what_is_due_is_ready_though_its_runtime_is_gone() {
    for runtime in runtimes() {
        let timeout = Timeout::new(Duration::ZERO, runtime.handle()).unwrap();
        drop(runtime);
        assert!(timeout.wait().is_ok());
    }
}

/// A thread of its own has the world's clock, on which nothing of this has passed.
#[tokio::test(start_paused = true)]
async fn a_clock_that_a_test_moves_is_moved_on_every_thread() {
    let made_elsewhere = {
        let runtime = tokio::runtime::Handle::current();
        thread::spawn(move || Timeout::new(10 * SECOND, &runtime).unwrap())
    };
    let bell = Bell::new();
    let mut task = executor::spawn(made_elsewhere.join().unwrap());
    assert_eq!(bell.poll_01(&mut task).unwrap(), Async::NotReady);
    advance(10 * SECOND).await;
    let polled_elsewhere = thread::spawn(move || bell.poll_01(&mut task).unwrap());
    assert_eq!(polled_elsewhere.join().unwrap(), Async::Ready(()));
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn timers_fire_for_a_task_on_a_core_too() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let handle = Local::new(runtime.handle()).handle();
    let timeout = Timeout::new(Duration::from_millis(1), &handle).unwrap();
    let mut core = tokio_core::reactor::Core::new().unwrap();
    assert!(core.run(timeout).is_ok());
}
