//! Timers of a tokio 1 runtime.

use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use futures::task::{self, Task};
use futures::{Async, Poll};
use tokio::runtime::Handle;
use tokio::time;

use crate::Error;

/// A place among the timers of a tokio 1 runtime, which fires while that runtime runs.
#[derive(Debug)]
pub(crate) struct Sleep {
    runtime: Handle,
    sleep: Pin<Box<time::Sleep>>,
    /// The last task that polled this.
    task: Option<Arc<Waiting>>,
}

#[derive(Debug)]
struct Waiting(Task);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

impl Sleep {
    /// # Panics
    ///
    /// If the runtime was built without `enable_time`.
    pub(crate) fn new(runtime: Handle, deadline: Instant) -> Sleep {
        let inside = runtime.enter();
        let sleep = Box::pin(time::sleep_until(deadline.into()));
        drop(inside);
        Sleep {
            runtime,
            sleep,
            task: None,
        }
    }

    pub(crate) fn is_elapsed(&self) -> bool {
        self.sleep.is_elapsed()
    }

    pub(crate) fn reset(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline.into());
    }

    pub(crate) fn poll(&mut self) -> Poll<(), Error> {
        // In this order: it may fire in between.
        let fired = self.sleep.is_elapsed();
        let inside = self.runtime.enter();
        let now = time::Instant::now();
        drop(inside);
        if self.sleep.deadline() <= now {
            return Ok(Async::Ready(()));
        }
        // The end of a runtime fires what is left; to poll that would panic.
        if fired {
            return Err(Error::shutdown());
        }
        let task = match &self.task {
            Some(task) if task.0.will_notify_current() => task,
            _ => self.task.insert(Arc::new(Waiting(task::current()))),
        };
        let waker = Waker::from(task.clone());
        let sleep = self.sleep.as_mut();
        // It panics if the runtime has ended since the look above.
        let poll = || sleep.poll(&mut Context::from_waker(&waker));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(std::task::Poll::Ready(())) => Ok(Async::Ready(())),
            Ok(std::task::Poll::Pending) => Ok(Async::NotReady),
            Err(_) => Err(Error::shutdown()),
        }
    }
}
