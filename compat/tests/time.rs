//! `Timeout` and `Interval`, on a clock that stands still until a test moves it. What tokio-core's
//! own did is shown by rows 51 and 52 of `traps/`.

mod common;

use std::time::Duration;

use common::Bell;
use futures01::executor::{self, Spawn};
use futures01::{Async, Future as _, Stream as _};
use ptunnel_compat::spawn::{Handle, Local};
use ptunnel_compat::task::AsStd;
use ptunnel_compat::time::{Current, Interval, OnRuntime, Timeout};
use tokio::time::{advance, Instant};

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
