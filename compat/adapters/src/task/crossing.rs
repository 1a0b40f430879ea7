//! A std `Context` for code that runs inside a 0.1 task.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures01::task::{self, Task};

use super::driver::Current;

/// What an adapter keeps from poll to poll, so as to make a `Waker` at most once a task.
///
/// One for each direction of a stream of bytes: the two halves may live in two tasks.
#[derive(Default)]
pub(crate) struct Crossing {
    own: Option<Own>,
}

/// A `Waker` made from the 0.1 task that polled last.
struct Own {
    task: Task,
    waker: Waker,
}

impl Crossing {
    /// Runs `poll` with a `Context` that wakes the current 0.1 task.
    ///
    /// # Panics
    ///
    /// Outside a 0.1 task, with a message in which `what` is the subject.
    #[track_caller]
    pub(crate) fn enter<R>(&mut self, what: &str, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
        if !task::is_in_task() {
            outside_a_task(what);
        }
        if let Some(current) = Current::take() {
            let current = PutBack(Some(current));
            if current.is_current() {
                return poll(&mut Context::from_waker(current.waker()));
            }
        }
        poll(&mut Context::from_waker(self.own_waker()))
    }

    fn own_waker(&mut self) -> &Waker {
        if !self
            .own
            .as_ref()
            .is_some_and(|own| own.task.will_notify_current())
        {
            let task = task::current();
            let waker = Waker::from(Arc::new(Ring(task.clone())));
            self.own = Some(Own { task, waker });
        }
        &self.own.as_ref().expect("set above").waker
    }
}

/// Returns the driver to its variable, also on the way of a panic.
struct PutBack(Option<Box<Current>>);

impl std::ops::Deref for PutBack {
    type Target = Current;

    fn deref(&self) -> &Current {
        self.0.as_ref().expect("taken only by drop")
    }
}

impl Drop for PutBack {
    fn drop(&mut self) {
        if let Some(current) = self.0.take() {
            Current::put(current);
        }
    }
}

struct Ring(Task);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

#[cold]
#[track_caller]
fn outside_a_task(what: &str) -> ! {
    panic!(
        "{what} was polled outside a futures 0.1 task: await it through \
         tokio_core_compat::task::AsStd, spawn it on a tokio-core Core, or call wait() on it"
    )
}
