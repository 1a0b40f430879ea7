//! tokio-timer, on a runtime and on a `Timer` that is turned by hand.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Future};
use futures::{executor, stream, Async, Stream};
use programs::within_a_minute;
use tokio::runtime::{current_thread, Runtime};
use tokio_executor::park::ParkThread;
use tokio_timer::clock::{self, Clock};
use tokio_timer::throttle::Throttle;
use tokio_timer::timer::{self, Handle, Timer};
use tokio_timer::{Delay, DelayQueue, Interval, Timeout};

const SOON: Duration = Duration::from_millis(20);

/// Runs the future on both runtimes.
fn on_both<F>(make: impl Fn() -> F + Send + 'static)
where
    F: Future<Item = (), Error = ()> + Send + 'static,
{
    within_a_minute(move || {
        current_thread::block_on_all(make()).unwrap();
        Runtime::new().unwrap().block_on_all(make()).unwrap();
    });
}

fn fails<E: std::fmt::Debug>(error: E) {
    panic!("{error:?}");
}

#[test]
fn a_delay_is_ready_at_its_instant_and_not_before() {
    on_both(|| {
        let deadline = Instant::now() + SOON;
        let delay = Delay::new(deadline).map_err(fails);
        delay.map(move |()| assert!(Instant::now() >= deadline))
    });
}

#[test]
fn a_delay_of_the_past_is_ready() {
    on_both(|| Delay::new(Instant::now() - SOON).map_err(fails));
}

#[test]
fn a_delay_is_moved_while_it_waits_and_after_it_was_ready() {
    on_both(|| {
        let start = Instant::now();
        let mut delay = Delay::new(start + 1000 * SOON);
        let mut resets = 0;
        future::poll_fn(move || loop {
            if resets == 0 {
                assert!(!delay.poll().unwrap().is_ready());
            } else {
                futures::try_ready!(delay.poll().map_err(fails));
                assert!(start.elapsed() >= resets * SOON);
                assert!(delay.is_elapsed());
            }
            if resets == 3 {
                return Ok(Async::Ready(()));
            }
            resets += 1;
            delay.reset(start + resets * SOON);
            assert_eq!(delay.deadline(), start + resets * SOON);
        })
    });
}

#[test]
fn missed_ticks_of_an_interval_come_in_a_burst() {
    on_both(|| {
        let start = Instant::now();
        let ticks = Interval::new(start, SOON).take(4).map_err(fails);
        thread::sleep(3 * SOON);
        ticks
            .collect()
            .map(move |ticks| assert_eq!(ticks, [0, 1, 2, 3].map(|tick| start + tick * SOON)))
    });
}

#[test]
fn a_timeout_ends_a_future_that_is_late() {
    on_both(|| {
        let late = Timeout::new(future::empty::<(), ()>(), SOON);
        let early = Timeout::new(future::ok::<_, ()>(7), SOON).map_err(fails);
        let failed = Timeout::new(future::err::<(), _>(7), SOON);
        let late = late.then(|late| {
            assert!(late.unwrap_err().is_elapsed());
            Ok(())
        });
        let failed = failed.then(|failed| {
            assert_eq!(failed.unwrap_err().into_inner(), Some(7));
            Ok(())
        });
        late.join3(early.map(|seven| assert_eq!(seven, 7)), failed)
            .map(drop)
    });
}

#[test]
fn a_timeout_of_a_stream_starts_anew_with_each_item() {
    on_both(|| {
        let start = Instant::now();
        let period = Duration::from_millis(60);
        let ticks = Interval::new(start + period, period).map_err(drop).take(3);
        let never = stream::poll_fn(|| Ok(Async::NotReady));
        let bounded = Timeout::new(ticks.chain(never), 2 * period);
        bounded.collect().then(move |ended| {
            assert!(ended.unwrap_err().is_elapsed());
            assert!(start.elapsed() >= 5 * period);
            Ok(())
        })
    });
}

#[test]
fn a_throttled_stream_yields_an_item_each_period() {
    on_both(|| {
        let start = Instant::now();
        let items = stream::iter_ok::<_, ()>(0..4);
        let items = Throttle::new(items, SOON).collect().map_err(fails);
        items.map(move |items| {
            assert_eq!(items, [0, 1, 2, 3]);
            assert!(start.elapsed() >= 3 * SOON);
        })
    });
}

#[test]
fn a_delay_queue_yields_by_instant() {
    on_both(|| {
        let mut queue = DelayQueue::new();
        let start = Instant::now();
        let _late = queue.insert_at("late", start + 3 * SOON);
        let gone = queue.insert_at("gone", start + 2 * SOON);
        let moved = queue.insert_at("moved", start + 1000 * SOON);
        let _first = queue.insert_at("first", start);
        assert_eq!(queue.remove(&gone).into_inner(), "gone");
        queue.reset_at(&moved, start + 2 * SOON);
        let all = queue.map(|expired| expired.into_inner()).collect();
        all.map_err(fails).map(move |all| {
            assert_eq!(all, ["first", "moved", "late"]);
            assert!(start.elapsed() >= 3 * SOON);
        })
    });
}

#[test]
fn a_delay_queue_that_waits_takes_what_is_earlier() {
    on_both(|| {
        let mut queue = DelayQueue::new();
        let start = Instant::now();
        let moved = queue.insert_at("moved", start + 1000 * SOON);
        let mut is_first = true;
        let mut taken = Vec::new();
        future::poll_fn(move || loop {
            if is_first {
                assert!(!queue.poll().unwrap().is_ready());
                queue.insert_at("inserted", start + 2 * SOON);
                assert!(!queue.poll().unwrap().is_ready());
                queue.reset_at(&moved, start + SOON);
                is_first = false;
            }
            match futures::try_ready!(queue.poll().map_err(fails)) {
                Some(expired) => taken.push(expired.into_inner()),
                None => {
                    assert_eq!(taken, ["moved", "inserted"]);
                    assert!(start.elapsed() < 500 * SOON);
                    return Ok(Async::Ready(()));
                }
            }
        })
    });
}

#[test]
fn an_empty_delay_queue_ends_and_takes_more() {
    on_both(|| {
        let mut queue = DelayQueue::with_capacity(4);
        let mut rounds = 0;
        future::poll_fn(move || loop {
            match futures::try_ready!(queue.poll().map_err(fails)) {
                Some(_) => assert!(queue.is_empty()),
                None if rounds == 3 => return Ok(Async::Ready(())),
                None => {
                    rounds += 1;
                    queue.insert((), SOON);
                    queue.insert((), SOON);
                    queue.clear();
                    queue.insert((), SOON);
                }
            }
        })
    });
}

#[test]
fn a_delay_outside_of_a_runtime_fails() {
    within_a_minute(|| {
        let delay = Delay::new(Instant::now() + SOON);
        assert!(delay.wait().unwrap_err().is_shutdown());
    });
}

#[test]
fn a_delay_whose_timer_is_gone_fails() {
    within_a_minute(|| {
        let timer = Timer::new(ParkThread::new());
        let delay = timer.handle().delay(Instant::now() + 1000 * SOON);
        let waits = thread::spawn(|| delay.wait());
        thread::sleep(SOON);
        let handle = timer.handle();
        drop(timer);
        assert!(waits.join().unwrap().unwrap_err().is_shutdown());
        let late = handle.delay(Instant::now() - SOON).wait();
        assert!(late.unwrap_err().is_shutdown());
    });
}

#[test]
fn a_timer_that_is_turned_fires_what_another_thread_waits_for() {
    within_a_minute(|| {
        let mut timer = Timer::new(ParkThread::new());
        let handle = timer.handle();
        let waits = thread::spawn(move || {
            // A later one first, so that the thread that turns has to be woken for the other.
            let _later = handle.delay(Instant::now() + 1000 * SOON);
            thread::sleep(SOON);
            let start = Instant::now();
            handle.delay(start + SOON).wait().unwrap();
            start.elapsed()
        });
        while !waits.is_finished() {
            timer.turn(Some(50 * SOON)).unwrap();
        }
        let waited = waits.join().unwrap();
        assert!((SOON..25 * SOON).contains(&waited), "{waited:?}");
    });
}

struct Set(Arc<Mutex<Instant>>);

impl clock::Now for Set {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

#[test]
fn the_clock_of_a_current_thread_runtime_can_be_set() {
    within_a_minute(|| {
        let start = Instant::now();
        let now = Arc::new(Mutex::new(start));
        let clock = Clock::new_with_now(Set(now.clone()));
        let mut builder = current_thread::Builder::new();
        let mut runtime = builder.clock(clock).build().unwrap();
        let set = now.clone();
        let hours = future::lazy(move || {
            assert_eq!(clock::now(), start);
            let delay = Delay::new(start + Duration::from_secs(3600));
            *set.lock().unwrap() = start + Duration::from_secs(7200);
            delay
        });
        runtime.block_on(hours).unwrap();
        assert!(start.elapsed() < Duration::from_secs(3600));
    });
}

#[test]
fn a_timer_is_the_threads_while_the_call_lasts() {
    let mut timer = Timer::default();
    let handle = timer.handle();
    let mut enter = tokio_executor::enter().unwrap();
    let mut delay = timer::with_default(&handle, &mut enter, |_| {
        Handle::current().delay(Instant::now() + SOON)
    });
    let mut task = executor::spawn(future::poll_fn(move || delay.poll()));
    let notify = Arc::new(Ignore);
    assert!(!task.poll_future_notify(&notify, 0).unwrap().is_ready());
    while !task.poll_future_notify(&notify, 0).unwrap().is_ready() {
        timer.turn(None).unwrap();
    }
}

struct Ignore;

impl executor::Notify for Ignore {
    fn notify(&self, _: usize) {}
}
