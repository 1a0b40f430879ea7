//! A std `Context` for code that runs inside a 0.1 task.

use std::sync::Arc;
use std::task::{ready, Context, Poll, Wake, Waker};

use futures01::task::{self, Task};

use super::budget::{self, Allowance, LIMIT};
use super::driver::Current;

/// What an adapter keeps from poll to poll, so as to make a `Waker` at most once a task.
///
/// One for each direction of a stream of bytes: the two halves may live in two tasks.
#[derive(Default)]
pub(crate) struct Crossing {
    own: Option<Own>,
    /// Ready polls since the last that was not, in a task that no [`Driver`](super::Driver) runs.
    in_a_row: u8,
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
        if let Some(current) = PutBack::innermost() {
            return poll(&mut Context::from_waker(current.waker()));
        }
        let _allowance = Allowance::enter();
        poll(&mut Context::from_waker(self.own_waker()))
    }

    /// The same for what a task may poll in a loop. Below a [`Driver`](super::Driver) it spends the
    /// budget; elsewhere it is `Pending`, with the task notified, after [`LIMIT`] ready polls in a
    /// row.
    #[track_caller]
    pub(crate) fn poll<T>(
        &mut self,
        what: &str,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if !task::is_in_task() {
            outside_a_task(what);
        }
        if let Some(current) = PutBack::innermost() {
            let cx = &mut Context::from_waker(current.waker());
            ready!(budget::poll_proceed(cx));
            let polled = poll(cx);
            if polled.is_ready() {
                budget::spend();
            }
            return polled;
        }
        if self.in_a_row == LIMIT {
            self.in_a_row = 0;
            self.own_waker().wake_by_ref();
            return Poll::Pending;
        }
        let _allowance = Allowance::enter();
        let polled = poll(&mut Context::from_waker(self.own_waker()));
        self.in_a_row = match polled {
            Poll::Ready(_) => self.in_a_row + 1,
            Poll::Pending => 0,
        };
        polled
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

impl PutBack {
    /// Takes the innermost driver, if the current 0.1 task is its own.
    fn innermost() -> Option<PutBack> {
        let current = PutBack(Some(Current::take()?));
        current.is_current().then_some(current)
    }
}

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
