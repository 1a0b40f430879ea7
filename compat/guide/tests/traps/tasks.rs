//! Rows 13 to 47: wakers, and what belongs to a task.

use std::cell::Cell;
use std::future::{poll_fn, Future};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{ready, Poll, Waker};

use futures01::task::{self, AtomicTask};
use futures01::{executor, future, Async, Future as _};
use futures_util::compat::Future01CompatExt as _;
use futures_util::task::AtomicWaker;
use tokio::net::{TcpListener, TcpStream};
use tokio_core_compat::task::AsStd;

use crate::common::{watched, Bell};

#[test]
fn row_13_a_kept_waker_goes_stale() {
    /// Polled by one task, then by another; who is woken at the end?
    fn woken(keep: impl Fn(&mut Option<Waker>, &Waker)) -> (usize, usize) {
        let mut kept = None;
        let (first, second) = (Bell::new(), Bell::new());
        for bell in [&first, &second] {
            let mut future = poll_fn(|cx| {
                keep(&mut kept, cx.waker());
                Poll::<()>::Pending
            });
            assert!(bell.poll(&mut future).is_pending());
        }
        kept.unwrap().wake();
        (first.rung(), second.rung())
    }

    // futures 0.1: a kept `Task` was as stale; one asked for it in every poll.
    let (mut kept, second) = (None, Bell::new());
    Bell::new().enter_01(|| kept = Some(task::current()));
    second.enter_01(|| kept = Some(task::current()));
    kept.unwrap().notify();
    assert_eq!(second.rung(), 1);

    // Naive: the context is there once, so the waker is taken once.
    let once = woken(|kept, waker| {
        kept.get_or_insert_with(|| waker.clone());
    });
    assert_eq!(once, (1, 0));

    // Right: renewed whenever it is another.
    let renewed = woken(|kept, waker| match kept {
        Some(kept) => kept.clone_from(waker),
        None => *kept = Some(waker.clone()),
    });
    assert_eq!(renewed, (0, 1));
}

#[test]
fn row_37_pending_needs_a_promise_to_wake() {
    let bell = Bell::new();

    // futures 0.1: notify, then say NotReady.
    let mut yielded = false;
    let mut yields = executor::spawn(future::poll_fn(move || {
        if std::mem::replace(&mut yielded, true) {
            return Ok::<_, ()>(Async::Ready(()));
        }
        task::current().notify();
        Ok(Async::NotReady)
    }));
    assert!(bell.poll_01(&mut yields).unwrap().is_not_ready());
    assert_eq!(bell.rung(), 1);

    // Naive: the notification looks like a line of the old interface, and goes with it.
    let bell = Bell::new();
    let mut yielded = false;
    let mut naive = poll_fn(|_| match std::mem::replace(&mut yielded, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    });
    assert!(bell.poll(&mut naive).is_pending());
    assert_eq!(bell.rung(), 0, "asleep for ever");

    // Right. (`yield_now` of tokio rings through its runtime, after the driver had its turn.)
    let mut right = Box::pin(tokio::task::yield_now());
    assert!(bell.poll(&mut right).is_pending());
    assert_eq!(bell.rung(), 1);
    assert!(bell.poll(&mut right).is_ready());
}

/// What a peer that has gone says to every attempt to flush.
fn broken<T>() -> Result<T, &'static str> {
    Err("broken pipe")
}

#[test]
fn row_39_an_error_is_ready_too() {
    let bell = Bell::new();

    // futures 0.1: an error is no `Async`; `?` takes it out of the way of the question.
    let mut flushed = executor::spawn(future::poll_fn(|| {
        let flush: futures01::Poll<(), _> = broken();
        Ok(Async::Ready(flush?.is_ready()))
    }));
    assert_eq!(bell.poll_01(&mut flushed), broken());

    // Naive: a `Poll` is no `Result`, so the `?` goes. The question is answered, wrongly.
    let flush = || Poll::Ready(broken::<()>());
    let mut naive = poll_fn(|_| Poll::Ready(Ok::<_, &str>(flush().is_ready())));
    assert_eq!(bell.poll(&mut naive), Poll::Ready(Ok(true)));

    // Right: `?` passes an error on here too, and leaves a `Poll`.
    let mut right = poll_fn(|_| Poll::Ready(Ok(flush()?.is_ready())));
    assert_eq!(bell.poll(&mut right), Poll::Ready(broken()));
}

#[test]
fn row_40_ready_passes_no_error_on() {
    let bell = Bell::new();

    // futures 0.1: it returns for `NotReady`, and for an error.
    let mut closed = executor::spawn(future::poll_fn(|| {
        let flush: futures01::Poll<(), _> = broken();
        futures01::try_ready!(flush);
        Ok(Async::Ready("closed"))
    }));
    assert_eq!(bell.poll_01(&mut closed), broken());

    // Naive: the macro of the same name. What is lost costs a warning, and `let _` ends that.
    let flush = || Poll::Ready(broken::<()>());
    let mut naive = poll_fn(|_| {
        #[expect(unused_must_use, reason = "the only trace of the error")]
        {
            ready!(flush());
        }
        Poll::Ready(Ok::<_, &str>("closed"))
    });
    assert_eq!(bell.poll(&mut naive), Poll::Ready(Ok("closed")));

    // Right.
    let mut right = poll_fn(|_| {
        ready!(flush())?;
        Poll::Ready(Ok("closed"))
    });
    assert_eq!(bell.poll(&mut right), Poll::Ready(broken()));
}

#[test]
fn row_43_an_async_fn_does_nothing_when_called() {
    watched(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();

        // futures 0.1: the call connects, before any poll.
        let core = tokio_core::reactor::Core::new().unwrap();
        let connecting = tokio_core::net::TcpStream::connect(&addr, &core.handle());
        listener.accept().unwrap();
        drop(connecting);

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            // Naive: two dials are to run at the same time; the first has not begun.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let first = TcpStream::connect(addr);
            let second = TcpStream::connect(addr).await.unwrap();
            let (_, accepted) = listener.accept().await.unwrap();
            assert_eq!(accepted, second.local_addr().unwrap());
            let first = first.await.unwrap();
            assert_eq!(
                listener.accept().await.unwrap().1,
                first.local_addr().unwrap()
            );

            // Right: what is to run beside the caller is joined, or spawned.
            let first = tokio::spawn(TcpStream::connect(addr));
            listener.accept().await.unwrap();
            first.await.unwrap().unwrap();
        });
    });
}

#[test]
fn row_45_will_notify_current_is_never_true_through_futures_util() {
    /// A 0.1 future that saves itself a registration when its task is still the same.
    fn registrations<F: Future + Unpin>(wrap: impl FnOnce(Counting) -> F) -> u32 {
        let count = Arc::new(Mutex::new(0));
        let mut future = wrap(Counting(None, count.clone()));
        let bell = Bell::new();
        (0..10).for_each(|_| assert!(bell.poll(&mut future).is_pending()));
        let count = *count.lock().unwrap();
        count
    }
    struct Counting(Option<task::Task>, Arc<Mutex<u32>>);
    impl futures01::Future for Counting {
        type Item = ();
        type Error = ();
        fn poll(&mut self) -> futures01::Poll<(), ()> {
            if !self.0.as_ref().is_some_and(task::Task::will_notify_current) {
                self.0 = Some(task::current());
                *self.1.lock().unwrap() += 1;
            }
            Ok(Async::NotReady)
        }
    }

    // futures 0.1: registers once.
    let (bell, count) = (Bell::new(), Arc::new(Mutex::new(0)));
    let mut task = executor::spawn(Counting(None, count.clone()));
    (0..10).for_each(|_| assert!(bell.poll_01(&mut task).unwrap().is_not_ready()));
    assert_eq!(*count.lock().unwrap(), 1);

    // Naive: the saving turns into a cost.
    assert_eq!(registrations(|old| old.compat()), 10);

    // Right: a task that stays the same says so.
    assert_eq!(registrations(AsStd::new), 1);
}

#[test]
fn row_46_register_then_look_again() {
    /// A flag that is set by another thread, at the worst moment: just after it was looked at.
    struct Flag(AtomicBool, AtomicWaker, AtomicTask);
    impl Flag {
        fn set(&self) {
            self.0.store(true, Ordering::SeqCst);
            self.1.wake();
            self.2.notify();
        }
        fn is_set(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
    }
    let flag = || {
        Flag(
            AtomicBool::new(false),
            AtomicWaker::new(),
            AtomicTask::new(),
        )
    };

    // futures 0.1: `AtomicTask` has the same order.
    let (bell, unset) = (Bell::new(), flag());
    bell.enter_01(|| {
        unset.2.register();
        assert!(!unset.is_set());
        unset.set();
    });
    assert_eq!(bell.rung(), 1);

    // Naive: look, then register. The wake-up falls between the two.
    let (bell, unset) = (Bell::new(), flag());
    let mut naive = poll_fn(|cx| {
        if unset.is_set() {
            return Poll::Ready(());
        }
        unset.set();
        unset.1.register(cx.waker());
        Poll::Pending
    });
    assert!(bell.poll(&mut naive).is_pending());
    assert_eq!(bell.rung(), 0, "asleep, though it is set");

    // Right: whatever comes after the registration rings, whatever came before is seen.
    for set_before_registration in [true, false] {
        let (bell, unset) = (Bell::new(), flag());
        let mut right = poll_fn(|cx| {
            if set_before_registration {
                unset.set();
            }
            unset.1.register(cx.waker());
            if unset.is_set() {
                return Poll::Ready(());
            }
            unset.set();
            Poll::Pending
        });
        assert!(bell.poll(&mut right).is_ready() || bell.rung() == 1);
    }
}

#[tokio::test]
async fn row_47_task_locals_end_at_a_bridge() {
    futures01::task_local!(static REQUEST: Cell<u32> = Cell::new(0));
    let set = || future::ok::<_, ()>(()).map(|()| REQUEST.with(|id| id.set(7)));
    let look = || future::lazy(|| Ok::<_, ()>(REQUEST.with(Cell::get)));

    // futures 0.1: one task, one variable.
    assert_eq!(set().and_then(|()| look()).wait(), Ok(7));

    // Naive: each bridge is a 0.1 task of its own, also within one task of tokio.
    AsStd::new(set()).await.unwrap();
    assert_eq!(AsStd::new(look()).await, Ok(0));

    // Right: what has to be shared stays on one side of one bridge, or moves to tokio's variables,
    // which 0.1 code under the bridge sees.
    assert_eq!(AsStd::new(set().and_then(|()| look())).await, Ok(7));
    tokio::task_local!(static ID: u32);
    let under_a_bridge = AsStd::new(future::lazy(|| Ok::<_, ()>(ID.get())));
    assert_eq!(ID.scope(7, under_a_bridge).await, Ok(7));
}
