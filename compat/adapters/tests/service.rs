//! Services of one generation called by the other: readiness, tasks, cancellation, both ways at once.

use std::cell::Cell;
use std::future::{ready, Ready};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures01::{executor, future, task, Async, Future as _};
use tokio_core_compat::prelude::*;
use tokio_core_compat::service::{As01Service, AsTower};
use tokio_service::Service as _;
use tower_service::Service as _;

use crate::common::Bell;

/// Is not ready until `open`.
#[derive(Clone, Default)]
struct Gate {
    open: Rc<Cell<bool>>,
    waiting: Rc<Cell<Option<Waker>>>,
    calls: Rc<Cell<u32>>,
}

impl tower_service::Service<u32> for Gate {
    type Response = u32;
    type Error = &'static str;
    type Future = Ready<Result<u32, &'static str>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if self.open.get() {
            return Poll::Ready(Ok(()));
        }
        self.waiting.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    fn call(&mut self, n: u32) -> Self::Future {
        assert!(self.open.get(), "called before it was ready");
        self.calls.set(self.calls.get() + 1);
        ready(n.checked_mul(2).ok_or("too large"))
    }
}

#[test]
fn a_call_waits_until_the_service_is_ready() {
    let gate = Gate::default();
    let service = As01Service::new(gate.clone());
    let (bell, mut call) = (Bell::new(), executor::spawn(service.call(21)));
    assert_eq!(bell.poll_01(&mut call), Ok(Async::NotReady));
    assert_eq!((bell.rung(), gate.calls.get()), (0, 0));
    gate.open.set(true);
    gate.waiting.take().unwrap().wake();
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.poll_01(&mut call), Ok(Async::Ready(42)));
    assert_eq!(service.call(u32::MAX).wait(), Err("too large"));
}

#[test]
fn a_dropped_call_is_not_made() {
    let gate = Gate::default();
    let service = As01Service::new(gate.clone());
    let mut call = executor::spawn(service.call(21));
    assert_eq!(Bell::new().poll_01(&mut call), Ok(Async::NotReady));
    drop(call);
    gate.open.set(true);
    assert_eq!(service.call(1).wait(), Ok(2));
    assert_eq!(gate.calls.get(), 1);
}

/// Registers the task of the call, and waits for `done`.
struct Eager {
    task: Rc<Cell<Option<task::Task>>>,
    done: Rc<Cell<bool>>,
}

impl tokio_service::Service for Eager {
    type Request = u32;
    type Response = u32;
    type Error = ();
    type Future = Box<dyn futures01::Future<Item = u32, Error = ()>>;

    fn call(&self, n: u32) -> Self::Future {
        self.task.set(Some(task::current()));
        let done = self.done.clone();
        Box::new(future::poll_fn(move || {
            Ok(match done.get() {
                true => Async::Ready(2 * n),
                false => Async::NotReady,
            })
        }))
    }
}

/// With tokio-service a call is made inside of the task that polls its future.
#[test]
fn what_a_call_registers_wakes_its_future() {
    let (task, done) = (Rc::default(), Rc::default());
    let mut service = AsTower::new(Eager {
        task: Rc::clone(&task),
        done: Rc::clone(&done),
    });
    let bell = Bell::new();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let mut call = tower_service::Service::call(&mut service, 21);
    assert!(bell.poll(&mut call).is_pending());
    done.set(true);
    Cell::take(&task).unwrap().notify();
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.poll(&mut call), Poll::Ready(Ok(42)));
}

#[tokio::test]
async fn both_wrappers_make_no_difference() {
    let gate = Gate::default();
    gate.open.set(true);
    let mut service = gate.into_service_01().into_tower();
    assert_eq!(service.call(21).await, Ok(42));
    assert_eq!(service.call(u32::MAX).await, Err("too large"));
}

/// A server makes a service for each connection, and goes on when that fails.
#[tokio::test]
async fn a_new_service_makes_a_service_for_each_connection() {
    let gate = Gate::default();
    gate.open.set(true);
    let made = Rc::new(Cell::new(0));
    let count = made.clone();
    let mut make = (move || {
        count.set(count.get() + 1);
        match count.get() {
            2 => Err(io::ErrorKind::OutOfMemory.into()),
            _ => Ok(gate.clone().into_service_01()),
        }
    })
    .into_tower_make();
    let mut first = make.call("a connection").await.unwrap();
    let error = make.call("another").await.err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    let mut third = make.call("and another").await.unwrap();
    assert_eq!(first.call(1).await, Ok(2));
    assert_eq!(third.call(2).await, Ok(4));
    assert_eq!(made.get(), 3);
}

/// The service of a call that panicked is in a state that only it knows.
#[test]
#[should_panic(expected = "service::Calling was polled after a panic of its service")]
fn a_call_whose_service_panicked_says_so() {
    let gate = Gate::default();
    let mut call = executor::spawn(As01Service::new(Unready(gate)).call(21));
    let poll = AssertUnwindSafe(|| Bell::new().poll_01(&mut call));
    assert!(catch_unwind(poll).is_err());
    let _ = Bell::new().poll_01(&mut call);
}

/// Says that it is ready, and panics when it is called.
#[derive(Clone)]
struct Unready(Gate);

impl tower_service::Service<u32> for Unready {
    type Response = u32;
    type Error = &'static str;
    type Future = Ready<Result<u32, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        self.0.call(n)
    }
}
