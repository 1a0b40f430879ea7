//! tokio's budget, below an executor that gives none.

use std::cell::{Cell, OnceCell};
use std::future::{poll_fn, Future};
use std::panic::resume_unwind;
use std::pin::{pin, Pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::task::{JoinHandle, LocalSet};

/// A std future whose polls each have tokio's budget, wherever this is polled.
///
/// tokio gives a budget to its tasks alone, and a task that doesn't need its runtime is one of a
/// `LocalSet`. So the future is the only task of such a set.
pub(super) struct Budgeted<T> {
    // In this order: the set drops the future.
    set: LocalSet,
    task: JoinHandle<T>,
    gate: Rc<Gate>,
}

/// Lets the future be polled once for each poll from outside. The set would poll it again at once
/// when it yields, and up to 61 times.
#[derive(Default)]
struct Gate {
    open: Cell<bool>,
    /// The task was woken while the gate was shut.
    knocked: Cell<bool>,
    task: OnceCell<Waker>,
}

impl<T: 'static> Budgeted<T> {
    pub(super) fn new(future: impl Future<Output = T> + 'static) -> Budgeted<T> {
        let (set, gate) = (LocalSet::new(), Rc::<Gate>::default());
        let inside = gate.clone();
        let task = set.spawn_local(async move {
            let mut future = pin!(future);
            poll_fn(|cx| {
                if !inside.open.replace(false) {
                    inside.knocked.set(true);
                    return Poll::Pending;
                }
                // The waker of a task of tokio is the same for life.
                inside.task.get_or_init(|| cx.waker().clone());
                future.as_mut().poll(cx)
            })
            .await
        });
        Budgeted { set, task, gate }
    }
}

impl<T> Future for Budgeted<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Budgeted { set, task, gate } = self.get_mut();
        gate.open.set(true);
        gate.knocked.set(false);
        // What woke this may not have woken the task: 0.1 code in there registers the 0.1 task.
        if let Some(task) = gate.task.get() {
            task.wake_by_ref();
        }
        let _ = Pin::new(set).poll(cx);
        // Checked first, so that the end causes no wake-up.
        if !task.is_finished() {
            if gate.knocked.get() {
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        match Pin::new(task).poll(cx) {
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(error)) => resume_unwind(error.into_panic()),
            Poll::Pending => unreachable!("it is finished"),
        }
    }
}
