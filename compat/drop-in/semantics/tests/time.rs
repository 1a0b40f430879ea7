//! `Timeout` and `Interval`.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use futures::{future, Async, Future, Stream};
use semantics::{turn_for, turn_until, watchdog, Bell};
use tokio_core::reactor::{Core, Interval, Timeout};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_timeout_is_not_early() {
    watchdog!();
    let mut core = Core::new().unwrap();
    for ms in [1, 5, 20, 33] {
        let began = Instant::now();
        core.run(Timeout::new(ms * MS, &core.handle()).unwrap())
            .unwrap();
        assert!(began.elapsed() >= ms * MS);
    }
}

#[test]
fn a_timeout_of_zero_is_ready_at_its_first_poll() {
    watchdog!();
    let core = Core::new().unwrap();
    let mut timeout = Timeout::new(Duration::ZERO, &core.handle()).unwrap();
    // The core does not run.
    assert!(Bell::new().enter(|| timeout.poll()).unwrap().is_ready());
}

#[test]
fn a_timeout_in_the_past_is_ready_at_its_first_poll() {
    watchdog!();
    let core = Core::new().unwrap();
    let past = Instant::now() - 10 * MS;
    let mut timeout = Timeout::new_at(past, &core.handle()).unwrap();
    assert!(Bell::new().enter(|| timeout.poll()).unwrap().is_ready());
}

#[test]
fn a_timeout_counts_from_its_creation() {
    watchdog!();
    let core = Core::new().unwrap();
    let mut timeout = Timeout::new(20 * MS, &core.handle()).unwrap();
    thread::sleep(30 * MS);
    assert!(Bell::new().enter(|| timeout.poll()).unwrap().is_ready());
}

#[test]
fn a_timeout_that_has_elapsed_stays_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(MS, &core.handle()).unwrap();
    core.run(future::poll_fn(|| timeout.poll())).unwrap();
    for _ in 0..3 {
        assert!(Bell::new().enter(|| timeout.poll()).unwrap().is_ready());
    }
}

#[test]
fn a_timeout_notifies_the_last_task_that_polled_it() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(30 * MS, &core.handle()).unwrap();
    let (first, last) = (Bell::new(), Bell::new());
    assert!(first.enter(|| timeout.poll()).unwrap().is_not_ready());
    assert!(last.enter(|| timeout.poll()).unwrap().is_not_ready());
    turn_until(&mut core, "the last task is notified", || last.rung() > 0);
    assert!(last.enter(|| timeout.poll()).unwrap().is_ready());
}

#[test]
fn a_reset_makes_a_timeout_earlier() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(Duration::from_secs(3600), &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    timeout.reset(Instant::now() + 20 * MS);
    core.run(timeout).unwrap();
}

#[test]
fn a_reset_makes_a_timeout_later() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let began = Instant::now();
    let mut timeout = Timeout::new(10 * MS, &core.handle()).unwrap();
    timeout.reset(began + 50 * MS);
    core.run(timeout).unwrap();
    assert!(began.elapsed() >= 50 * MS);
}

#[test]
fn a_reset_rearms_a_timeout_that_has_elapsed() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(MS, &core.handle()).unwrap();
    core.run(future::poll_fn(|| timeout.poll())).unwrap();
    let began = Instant::now();
    timeout.reset(began + 30 * MS);
    assert!(Bell::new().enter(|| timeout.poll()).unwrap().is_not_ready());
    core.run(timeout).unwrap();
    assert!(began.elapsed() >= 30 * MS);
}

#[test]
fn a_reset_to_the_past_is_ready_at_the_next_poll() {
    watchdog!();
    let core = Core::new().unwrap();
    let mut timeout = Timeout::new(Duration::from_secs(3600), &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    timeout.reset(Instant::now() - MS);
    assert!(bell.enter(|| timeout.poll()).unwrap().is_ready());
}

#[test]
fn a_dropped_timeout_notifies_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(20 * MS, &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    drop(timeout);
    turn_for(&mut core, 50 * MS);
    assert_eq!(bell.rung(), 0);
}

#[test]
fn a_timeout_in_the_far_future_waits() {
    watchdog!();
    let mut core = Core::new().unwrap();
    const YEAR: u64 = 365 * 24 * 3600;
    let mut timeouts: Vec<_> = [1, 10, 100]
        .iter()
        .map(|years| Timeout::new(Duration::from_secs(years * YEAR), &core.handle()).unwrap())
        .collect();
    let bell = Bell::new();
    for timeout in &mut timeouts {
        assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    }
    // The core goes on beside them.
    core.run(Timeout::new(10 * MS, &core.handle()).unwrap())
        .unwrap();
    assert_eq!(bell.rung(), 0);
    for timeout in &mut timeouts {
        assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    }
}

#[test]
fn a_timeout_past_the_end_of_time_panics() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    let new = AssertUnwindSafe(|| Timeout::new(Duration::MAX, &handle).map(drop));
    assert!(catch_unwind(new).is_err());
}

#[test]
fn timeouts_fire_in_the_order_of_their_times() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Rc::new(RefCell::new(Vec::new()));
    let began = Instant::now();
    for ms in [70, 30, 90, 10, 50] {
        let timeout = Timeout::new_at(began + ms * MS, &core.handle()).unwrap();
        let order = order.clone();
        core.handle().spawn(
            timeout
                .map(move |()| order.borrow_mut().push(ms))
                .map_err(drop),
        );
    }
    turn_until(&mut core, "all fire", || order.borrow().len() == 5);
    assert_eq!(*order.borrow(), [10, 30, 50, 70, 90]);
}

#[test]
fn timeouts_that_elapse_while_the_core_is_busy_fire_in_the_order_of_their_times() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Rc::new(RefCell::new(Vec::new()));
    let began = Instant::now() + 200 * MS;
    for ms in [35, 15, 45, 5, 25] {
        let timeout = Timeout::new_at(began + ms * MS, &core.handle()).unwrap();
        let order = order.clone();
        core.handle().spawn(
            timeout
                .map(move |()| order.borrow_mut().push(ms))
                .map_err(drop),
        );
    }
    // Each task polls its timeout before it has elapsed.
    for _ in 0..5 {
        core.turn(Some(Duration::ZERO));
    }
    assert!(
        Instant::now() < began,
        "this machine is too slow for the test"
    );
    thread::sleep(began + 60 * MS - Instant::now());
    turn_until(&mut core, "all fire", || order.borrow().len() == 5);
    assert_eq!(*order.borrow(), [5, 15, 25, 35, 45]);
}

#[test]
fn ten_thousand_timeouts_fire() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let timeouts: Vec<_> = (0..10_000_u32)
        .map(|n| Timeout::new((n % 50) * MS, &handle).unwrap())
        .collect();
    core.run(future::join_all(timeouts)).unwrap();
}

#[test]
fn a_timeout_waits_in_a_task_of_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let timeout = Timeout::new(20 * MS, &core.handle()).unwrap();
    let (done, waits) = futures::sync::oneshot::channel();
    let thread = thread::spawn(move || {
        timeout.wait().unwrap();
        done.send(()).unwrap();
    });
    core.run(waits).unwrap();
    thread.join().unwrap();
}

#[test]
fn timers_on_a_handle_of_a_dropped_core_fail() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    let kind = std::io::ErrorKind::Other;
    assert_eq!(Timeout::new(MS, &handle).unwrap_err().kind(), kind);
    assert_eq!(
        Interval::new(MS, &handle).map(drop).unwrap_err().kind(),
        kind
    );
}

#[test]
fn a_timeout_outlives_its_core() {
    watchdog!();
    let core = Core::new().unwrap();
    let mut timeout = Timeout::new(20 * MS, &core.handle()).unwrap();
    drop(core);
    let bell = Bell::new();
    assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    thread::sleep(30 * MS);
    // The clock goes on, but no core notifies the task.
    assert!(bell.enter(|| timeout.poll()).unwrap().is_ready());
    assert_eq!(bell.rung(), 0);
}

#[test]
fn an_interval_ticks_first_after_its_period() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let began = Instant::now();
    let interval = Interval::new(15 * MS, &core.handle()).unwrap();
    let mut ticks = 0;
    core.run(interval.take(4).for_each(|()| {
        ticks += 1;
        assert!(began.elapsed() >= ticks * 15 * MS, "tick {ticks} is early");
        Ok(())
    }))
    .unwrap();
    assert_eq!(ticks, 4);
}

#[test]
fn an_interval_at_an_instant_ticks_first_then() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let began = Instant::now();
    let hour = Duration::from_secs(3600);
    let mut interval = Interval::new_at(began + 20 * MS, hour, &core.handle()).unwrap();
    assert!(Bell::new()
        .enter(|| interval.poll())
        .unwrap()
        .is_not_ready());
    assert_eq!(
        core.run(future::poll_fn(|| interval.poll())).unwrap(),
        Some(())
    );
    assert!(began.elapsed() >= 20 * MS);
    assert!(Bell::new()
        .enter(|| interval.poll())
        .unwrap()
        .is_not_ready());
}

#[test]
fn an_interval_in_the_past_ticks_at_its_first_poll() {
    watchdog!();
    let core = Core::new().unwrap();
    let hour = Duration::from_secs(3600);
    let mut interval = Interval::new_at(Instant::now(), hour, &core.handle()).unwrap();
    // The core does not run.
    let bell = Bell::new();
    assert_eq!(
        bell.enter(|| interval.poll()).unwrap(),
        Async::Ready(Some(()))
    );
    assert_eq!(bell.enter(|| interval.poll()).unwrap(), Async::NotReady);
}

#[test]
fn an_interval_gives_one_tick_for_all_that_were_missed() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let bell = Bell::new();
    let mut interval = Interval::new(MS, &core.handle()).unwrap();
    thread::sleep(20 * MS);
    core.turn(Some(Duration::ZERO));
    // By another clock the next tick is due by now, and is then no missed one.
    let polled = Instant::now();
    assert_eq!(
        bell.enter(|| interval.poll()).unwrap(),
        Async::Ready(Some(()))
    );
    let mut ticks = 1;
    while bell.enter(|| interval.poll()).unwrap().is_ready() {
        ticks += 1;
        assert!(
            ticks - 1 <= polled.elapsed().as_millis() + 1,
            "{ticks} ticks"
        );
        if ticks > 10 {
            break;
        }
    }
}

#[test]
fn an_interval_keeps_its_beat_after_missed_ticks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let began = Instant::now();
    // Due 5.5, 3.5 and 1.5 s ago; next in half a second.
    let first = began.checked_sub(5500 * MS).unwrap();
    let mut interval = Interval::new_at(first, 2000 * MS, &core.handle()).unwrap();
    let bell = Bell::new();
    assert_eq!(
        bell.enter(|| interval.poll()).unwrap(),
        Async::Ready(Some(()))
    );
    assert_eq!(bell.enter(|| interval.poll()).unwrap(), Async::NotReady);
    core.run(future::poll_fn(|| interval.poll())).unwrap();
    let passed = began.elapsed();
    assert!(passed >= 500 * MS && passed < 1900 * MS, "{passed:?}");
}

#[test]
fn an_interval_of_zero_panics() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    let tick = AssertUnwindSafe(|| {
        let mut interval = Interval::new(Duration::ZERO, &handle).unwrap();
        thread::sleep(MS);
        Bell::new().enter(|| interval.poll().map(drop))
    });
    assert!(catch_unwind(tick).is_err());
}

#[test]
fn a_dropped_interval_notifies_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut interval = Interval::new(20 * MS, &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell.enter(|| interval.poll()).unwrap().is_not_ready());
    drop(interval);
    turn_for(&mut core, 50 * MS);
    assert_eq!(bell.rung(), 0);
}

#[test]
fn an_interval_waits_in_a_task_of_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let interval = Interval::new(5 * MS, &core.handle()).unwrap();
    let (done, waits) = futures::sync::oneshot::channel();
    let thread = thread::spawn(move || {
        assert_eq!(interval.take(4).wait().count(), 4);
        done.send(()).unwrap();
    });
    core.run(waits).unwrap();
    thread.join().unwrap();
}
