//! What `task` promises about wake-ups: none lost, none spurious, each to the latest poll.

use std::future::{poll_fn, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures01::executor;
use futures01::stream::FuturesUnordered;
use futures01::sync::{mpsc, oneshot};
use futures01::task::{self, Task};
use futures01::{future, stream, Async, Future as _};
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::sync as std_sync;
use tokio_core_compat::task::{As01, AsStd};

use crate::common::{watched, Bell};

/// What a future has registered.
type Kept<T> = Arc<Mutex<Option<T>>>;

/// Registers in its first poll only, as a 0.1 future may, and never ends.
fn registers_once() -> (
    AsStd<impl futures01::Future<Item = (), Error = ()>>,
    Arc<Mutex<Option<Task>>>,
) {
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let future = future::poll_fn(move || {
        keep.lock().unwrap().get_or_insert_with(task::current);
        Ok(Async::NotReady)
    });
    (AsStd::new(future), kept)
}

fn notify(kept: &Mutex<Option<Task>>) {
    kept.lock().unwrap().as_ref().unwrap().notify();
}

#[test]
fn an_old_registration_wakes_the_waker_of_the_latest_poll() {
    let (first, second) = (Bell::new(), Bell::new());
    let (mut future, kept) = registers_once();
    assert!(first.poll(&mut future).is_pending());
    notify(&kept);
    assert_eq!((first.rung(), second.rung()), (1, 0));

    assert!(second.poll(&mut future).is_pending());
    notify(&kept);
    assert_eq!((first.rung(), second.rung()), (1, 1));
}

#[test]
fn a_wake_up_from_another_thread_arrives() {
    let bell = Bell::new();
    let (tx, rx) = oneshot::channel::<u32>();
    let mut rx = AsStd::new(rx);
    assert!(bell.poll(&mut rx).is_pending());
    thread::spawn(|| tx.send(7).unwrap()).join().unwrap();
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.poll(&mut rx), Poll::Ready(Ok(7)));
}

#[test]
fn a_dropped_future_wakes_no_task_and_frees_its_waker() {
    let bell = Bell::new();
    let (mut future, kept) = registers_once();
    assert!(bell.poll(&mut future).is_pending());
    drop(future);
    notify(&kept);
    assert_eq!(bell.rung(), 0);
    assert_eq!(Arc::strong_count(&bell), 1);
}

#[test]
fn an_ended_future_wakes_no_task_and_frees_its_waker() {
    let bell = Bell::new();
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let mut future = AsStd::new(future::lazy(move || {
        *keep.lock().unwrap() = Some(task::current());
        Ok::<_, ()>(())
    }));
    assert!(bell.poll(&mut future).is_ready());
    notify(&kept);
    assert_eq!(bell.rung(), 0);
    assert_eq!(Arc::strong_count(&bell), 1);
}

#[test]
fn an_ended_stream_wakes_no_task_until_it_is_polled_again() {
    let (first, second) = (Bell::new(), Bell::new());
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let mut ends = [Async::NotReady, Async::Ready(None)].into_iter();
    let mut stream = AsStd::new(stream::poll_fn(move || {
        keep.lock().unwrap().get_or_insert_with(task::current);
        Ok::<Async<Option<()>>, ()>(ends.next().unwrap_or(Async::NotReady))
    }));
    assert!(first.poll_next(&mut stream).is_pending());
    assert_eq!(first.poll_next(&mut stream), Poll::Ready(None));
    notify(&kept);
    assert_eq!(first.rung(), 0);
    assert_eq!(Arc::strong_count(&first), 1);

    // 0.1 allows it, and some streams then have more to say.
    assert!(second.poll_next(&mut stream).is_pending());
    notify(&kept);
    assert_eq!((first.rung(), second.rung()), (0, 1));
    assert!(first.poll_next(&mut stream).is_pending());
    notify(&kept);
    assert_eq!((first.rung(), second.rung()), (1, 1));
}

#[test]
fn wake_ups_are_passed_on_one_for_one() {
    let bell = Bell::new();
    let (mut future, kept) = registers_once();
    for n in 0..100 {
        assert_eq!(bell.rung(), n);
        assert!(bell.poll(&mut future).is_pending());
        assert_eq!(bell.rung(), n, "a poll rings nothing");
        notify(&kept);
    }
}

#[test]
fn wake_ups_pass_four_crossings_one_for_one() {
    let bell = Bell::new();
    let (tx, rx) = std_sync::mpsc::unbounded_channel::<u32>();
    let source = Receiver(rx).map(Ok::<_, ()>);
    let mut crossed = AsStd::new(As01::new(AsStd::new(As01::new(source))));
    assert!(bell.poll_next(&mut crossed).is_pending());
    for n in 0..100 {
        tx.send(n).unwrap();
        assert_eq!(bell.rung(), n as usize + 1);
        assert_eq!(bell.poll_next(&mut crossed), Poll::Ready(Some(Ok(n))));
        assert!(bell.poll_next(&mut crossed).is_pending());
    }
}

/// tokio 1's receiver is no `Stream` by itself.
struct Receiver<T>(std_sync::mpsc::UnboundedReceiver<T>);

impl<T> futures_core::Stream for Receiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}

#[test]
fn none_is_lost_between_two_threads() {
    const ITEMS: u32 = if cfg!(miri) { 50 } else { 20_000 };
    let sum = watched(|| {
        let (tx, rx) = mpsc::unbounded::<u32>();
        let sender = thread::spawn(move || (0..ITEMS).for_each(|n| tx.unbounded_send(n).unwrap()));
        let crossed = AsStd::new(As01::new(AsStd::new(rx)));
        let sum = futures_executor(crossed.try_fold(0, |sum, n| async move { Ok(sum + n) }));
        sender.join().unwrap();
        sum
    });
    assert_eq!(sum, Ok((0..ITEMS).sum()));
}

/// A thread that parks between polls: a lost wake-up hangs it.
fn futures_executor<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    loop {
        // A new one each time, so that every poll changes the waker.
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_wake_up_that_races_with_a_change_of_waker_reaches_one_of_the_two() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
    for _ in 0..ROUNDS {
        let (old, new) = (Bell::new(), Bell::new());
        let (mut future, kept) = registers_once();
        assert!(old.poll(&mut future).is_pending());
        let start = Arc::new(Barrier::new(2));
        let notifier = thread::spawn({
            let start = start.clone();
            move || {
                start.wait();
                notify(&kept);
            }
        });
        start.wait();
        assert!(new.poll(&mut future).is_pending());
        notifier.join().unwrap();
        assert_eq!(old.rung() + new.rung(), 1);
    }
}

#[test]
fn a_waker_may_poll_from_within_wake() {
    type Shared = Mutex<Option<AsStd<oneshot::Receiver<u32>>>>;
    struct Inline(Shared, Mutex<Option<u32>>);
    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            let mut future = self.0.lock().unwrap().take().unwrap();
            let waker = Waker::from(self.clone());
            match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => *self.1.lock().unwrap() = value.ok(),
                Poll::Pending => *self.0.lock().unwrap() = Some(future),
            }
        }
    }
    let answer = watched(|| {
        let (tx, rx) = oneshot::channel();
        let task = Arc::new(Inline(Mutex::new(Some(AsStd::new(rx))), Mutex::new(None)));
        task.clone().wake();
        tx.send(7).unwrap();
        let answer = *task.1.lock().unwrap();
        answer
    });
    assert_eq!(answer, Some(7));
}

/// A std future that keeps the waker of its latest poll and never ends.
fn keeps_waker() -> (
    As01<impl Future<Output = Result<(), ()>> + Unpin>,
    Kept<Waker>,
) {
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let future = poll_fn(move |cx: &mut Context<'_>| {
        *keep.lock().unwrap() = Some(cx.waker().clone());
        Poll::Pending
    });
    (As01::new(future), kept)
}

fn wake(kept: &Mutex<Option<Waker>>) {
    kept.lock().unwrap().as_ref().unwrap().wake_by_ref();
}

#[test]
fn a_std_future_follows_its_0_1_task() {
    let (first, second) = (Bell::new(), Bell::new());
    let (future, kept) = keeps_waker();
    let mut task = executor::spawn(future);
    assert!(first.poll_01(&mut task).unwrap().is_not_ready());
    wake(&kept);
    assert_eq!((first.rung(), second.rung()), (1, 0));

    assert!(second.poll_01(&mut task).unwrap().is_not_ready());
    thread::scope(|scope| scope.spawn(|| wake(&kept)).join().unwrap());
    assert_eq!((first.rung(), second.rung()), (1, 1));
}

#[test]
#[cfg_attr(
    miri,
    ignore = "there, will_wake may deny a clone: vtables have no one address"
)]
fn a_std_future_sees_one_waker_for_as_long_as_its_task_stays() {
    let bell = Bell::new();
    let (future, kept) = keeps_waker();
    let mut task = executor::spawn(future);
    assert!(bell.poll_01(&mut task).unwrap().is_not_ready());
    let before = kept.lock().unwrap().clone().unwrap();
    assert!(bell.poll_01(&mut task).unwrap().is_not_ready());
    assert!(before.will_wake(kept.lock().unwrap().as_ref().unwrap()));
}

#[test]
fn a_waker_outlives_what_registered_it() {
    let bell = Bell::new();
    let (future, kept) = keeps_waker();
    let mut task = executor::spawn(future);
    assert!(bell.poll_01(&mut task).unwrap().is_not_ready());
    drop(task);
    // As with any task: ringing it once too often is allowed, touching freed memory is not.
    wake(&kept);
    kept.lock().unwrap().take();
    assert_eq!(Arc::strong_count(&bell), 1);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "futures 0.1's own FuturesUnordered makes a dangling reference"
)]
fn a_crossing_inside_futures_unordered_wakes_its_own_node_only() {
    let bell = Bell::new();
    let mut polls = Vec::new();
    let mut wakers = Vec::new();
    let mut set = FuturesUnordered::new();
    for _ in 0..3 {
        let (count, kept) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(None::<Waker>)));
        polls.push(count.clone());
        wakers.push(kept.clone());
        set.push(As01::new(poll_fn(move |cx: &mut Context<'_>| {
            *count.lock().unwrap() += 1;
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::<Result<(), ()>>::Pending
        })));
    }
    let mut set = AsStd::new(set);
    assert!(bell.poll_next(&mut set).is_pending());
    // The set rings by itself once it has polled all of its nodes (futures 0.1.30).
    let before = bell.rung();
    wake(&wakers[1]);
    assert_eq!(bell.rung(), before + 1);
    assert!(bell.poll_next(&mut set).is_pending());
    let polls: Vec<i32> = polls.iter().map(|count| *count.lock().unwrap()).collect();
    assert_eq!(polls, [1, 2, 1]);
}

#[test]
fn a_panic_leaves_the_crossings_around_it_in_order() {
    let bell = Bell::new();
    let mut fail = true;
    // A panic two crossings down, caught one crossing down.
    let mut inner = AsStd::new(future::poll_fn(move || {
        if std::mem::take(&mut fail) {
            panic!("once");
        }
        Ok::<_, ()>(Async::Ready(5))
    }));
    let (mut rest, kept) = registers_once();
    let middle = poll_fn(move |cx: &mut Context<'_>| {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut inner).poll(cx)));
        match polled {
            Ok(polled) => polled,
            // The outer task is still the one that this wakes.
            Err(_) => Pin::new(&mut rest).poll(cx).map_ok(|()| 0),
        }
    });
    let mut outer = AsStd::new(As01::new(middle));
    assert!(bell.poll(&mut outer).is_pending());
    notify(&kept);
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.poll(&mut outer), Poll::Ready(Ok(5)));
    assert!(!task::is_in_task());
}

#[test]
#[should_panic(expected = "a future in task::As01 was polled outside a futures 0.1 task: await it")]
fn polled_outside_a_task_it_says_what_to_do() {
    let _ = As01::new(std::future::ready(Ok::<(), ()>(()))).poll();
}

#[test]
fn task_locals_last_from_poll_to_poll() {
    futures01::task_local!(static SEEN: std::cell::Cell<u32> = std::cell::Cell::new(0));
    let bell = Bell::new();
    let mut future = AsStd::new(future::poll_fn(|| {
        SEEN.with(|seen| seen.set(seen.get() + 1));
        let seen = SEEN.with(std::cell::Cell::get);
        Ok::<_, ()>(if seen == 3 {
            Async::Ready(seen)
        } else {
            Async::NotReady
        })
    }));
    assert!(bell.poll(&mut future).is_pending());
    assert!(bell.poll(&mut future).is_pending());
    assert_eq!(bell.poll(&mut future), Poll::Ready(Ok(3)));
}

#[test]
fn an_error_does_not_end_a_stream() {
    let items = futures01::stream::iter_result([Ok(1), Err("two"), Ok(3)]);
    let mut both_ways = AsStd::new(As01::new(AsStd::new(items)));
    let bell = Bell::new();
    assert_eq!(bell.poll_next(&mut both_ways), Poll::Ready(Some(Ok(1))));
    assert_eq!(
        bell.poll_next(&mut both_ways),
        Poll::Ready(Some(Err("two")))
    );
    assert_eq!(bell.poll_next(&mut both_ways), Poll::Ready(Some(Ok(3))));
    assert_eq!(bell.poll_next(&mut both_ways), Poll::Ready(None));
}
