//! A 0.1 task that runs when it is polled with a std `Context`.
//!
//! futures 0.1 finds its current task in a thread-local variable; std passes it by argument. A
//! [`Driver`] turns the argument into the variable. While it does, it also leaves a std `Waker`
//! in a variable of this crate, so that a [`Crossing`](super::Crossing) further down the stack can
//! pick it up instead of wrapping the 0.1 task in a new one.
//!
//! That `Waker` is the driver's own, the same one for life, and not the one of the `Context`: a 0.1
//! future may register once and count on it, because its task never changed. So a changed `Waker`
//! must reach registrations that are not renewed.

use std::cell::Cell;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{ready, Context, Poll, Wake, Waker};

use futures01::executor::{self, Notify, Spawn};
use futures01::future;
use futures01::task::{self, Task};

use super::budget;
use super::notify::Notifier;

thread_local! {
    /// The innermost driver that is polling on this thread.
    static DRIVING: Cell<Option<Box<Current>>> = const { Cell::new(None) };
}

/// The [`WakerCell`] of a driver, as 0.1 code and as std code see it.
pub(super) struct Current {
    task: Task,
    waker: Waker,
}

impl Current {
    /// Takes the innermost driver out of its variable, if there is one; [`Current::put`] returns
    /// it.
    pub(super) fn take() -> Option<Box<Current>> {
        DRIVING.take()
    }

    pub(super) fn put(current: Box<Current>) {
        DRIVING.set(Some(current));
    }

    /// Whether the 0.1 task being polled right now is this one, and not one that an executor
    /// inside of it (`FuturesUnordered`, `Shared`, `wait`) has put in its place.
    pub(super) fn is_current(&self) -> bool {
        self.task.will_notify_current()
    }

    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }
}

pub(crate) struct Driver {
    /// Holds what the polled code keeps in 0.1's `task_local!`.
    task: Spawn<()>,
    notify: Notifier<Bell>,
    /// What `notify` holds, to be compared without its lock.
    latest: Waker,
    /// `None` only while it lies in [`DRIVING`].
    current: Option<Box<Current>>,
}

impl Driver {
    pub(crate) fn new() -> Driver {
        let cell = Arc::new(WakerCell(Mutex::new(Waker::noop().clone())));
        let notify = Notifier::new(Bell(cell.clone()));
        // The one way to a `Task` is to ask for it from within.
        let task = match executor::spawn(future::lazy(|| Ok::<_, ()>(task::current())))
            .poll_future_notify(&notify, 0)
        {
            Ok(futures01::Async::Ready(task)) => task,
            _ => unreachable!("lazy is ready at once"),
        };
        let waker = Waker::from(cell);
        Driver {
            task: executor::spawn(()),
            notify,
            latest: Waker::noop().clone(),
            current: Some(Box::new(Current { task, waker })),
        }
    }

    /// Runs `poll` as a 0.1 task whose notifications wake `cx`.
    pub(crate) fn enter<R>(&mut self, cx: &Context<'_>, poll: impl FnOnce() -> R) -> R {
        self.follow(cx);
        self.enter_again(poll)
    }

    /// The same, within tokio's budget: `Pending` without a call of `poll` when that is used up, and
    /// a unit of it for each call that was ready.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce() -> Poll<T>,
    ) -> Poll<T> {
        self.follow(cx);
        ready!(budget::poll_proceed(cx));
        let polled = self.enter_again(poll);
        if polled.is_ready() {
            budget::spend();
        }
        polled
    }

    /// Sends notifications to `cx` from here on.
    fn follow(&mut self, cx: &Context<'_>) {
        if !self.latest.will_wake(cx.waker()) {
            self.latest = cx.waker().clone();
            self.notify.0.replace(cx.waker().clone());
        }
    }

    /// As [`enter`](Driver::enter), for a caller without a `Context`: notifications wake the one of last time.
    pub(crate) fn enter_again<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        /// Also on the way of a panic: the next poll must find both variables as they were.
        struct Leave<'a> {
            home: &'a mut Option<Box<Current>>,
            outer: Option<Box<Current>>,
        }

        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                *self.home = DRIVING.replace(self.outer.take());
            }
        }

        let outer = DRIVING.replace(self.current.take());
        let _leave = Leave {
            home: &mut self.current,
            outer,
        };
        self.task.poll_fn_notify(&self.notify, 0, |()| poll())
    }

    /// Forgets the `Waker`: task handles that are still about ring nothing from here on, and no
    /// longer keep the std task's memory alive.
    pub(crate) fn silence(&mut self) {
        self.latest = Waker::noop().clone();
        self.notify.0.replace(Waker::noop().clone());
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.silence();
    }
}

/// Where all wake-ups go: to the `Waker` of the latest poll.
struct WakerCell(Mutex<Waker>);

impl WakerCell {
    fn replace(&self, waker: Waker) {
        let old = mem::replace(&mut *self.lock(), waker);
        // Outside the lock: dropping the last handle of a task may drop a future, which may
        // come back here.
        drop(old);
    }

    fn ring(&self) {
        // Cloned, for the same reason: an executor may poll from within `wake`.
        let waker = self.lock().clone();
        waker.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same, for 0.1 tasks.
struct Bell(Arc<WakerCell>);

impl Notify for Bell {
    fn notify(&self, _id: usize) {
        self.0.ring();
    }
}

impl Wake for WakerCell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
