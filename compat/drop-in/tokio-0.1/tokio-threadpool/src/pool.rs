use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use futures::{Async, Future, Poll};
use tokio::runtime::{Handle, Runtime};
use tokio_executor::{on_tokio_1, SpawnError};

use crate::blocking::Permits;
use crate::shutdown::End;
use crate::Sender;

pub(crate) type Boxed = Box<dyn Future<Item = (), Error = ()> + Send>;
pub(crate) type PanicHandler = Arc<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// A runtime, and the tasks of this crate on it.
pub(crate) struct Pool {
    handle: Handle,
    state: Mutex<State>,
    pub(crate) end: Arc<End>,
    pub(crate) permits: Permits,
    panic_handler: Option<PanicHandler>,
}

struct State {
    /// Until it ends.
    runtime: Option<Runtime>,
    tasks: usize,
    lifecycle: Lifecycle,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Lifecycle {
    Open,
    /// Takes tasks as long as it has one.
    UntilIdle,
    /// Takes no task, and ends with the last.
    Closed,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Pool>>> = const { RefCell::new(None) };
}

impl Pool {
    pub(crate) fn new(
        runtime: Runtime,
        permits: Permits,
        panic_handler: Option<PanicHandler>,
    ) -> Pool {
        Pool {
            handle: runtime.handle().clone(),
            state: Mutex::new(State {
                runtime: Some(runtime),
                tasks: 0,
                lifecycle: Lifecycle::Open,
            }),
            end: Arc::default(),
            permits,
            panic_handler,
        }
    }

    /// Returns the pool whose task is being polled.
    pub(crate) fn current() -> Option<Arc<Pool>> {
        CURRENT.with_borrow(Option::clone)
    }

    pub(crate) fn status(&self) -> Result<(), SpawnError> {
        self.lock().status()
    }

    pub(crate) fn spawn(self: &Arc<Self>, future: Boxed) -> Result<(), SpawnError> {
        let mut state = self.lock();
        state.status()?;
        state.tasks += 1;
        drop(state);
        let task = Task {
            future: Some(future),
            pool: self.clone(),
        };
        let sender = Sender { pool: self.clone() };
        self.handle.spawn(on_tokio_1::task(task, Some(sender)));
        Ok(())
    }

    /// Ends the pool with its last task, or `now`.
    pub(crate) fn shutdown(&self, lifecycle: Lifecycle, now: bool) {
        let mut state = self.lock();
        state.lifecycle = lifecycle;
        if now || state.tasks == 0 {
            self.stop(state);
        }
    }

    fn task_ended(&self) {
        let mut state = self.lock();
        state.tasks -= 1;
        if state.tasks == 0 && state.lifecycle != Lifecycle::Open {
            self.stop(state);
        }
    }

    fn stop(&self, mut state: MutexGuard<'_, State>) {
        state.lifecycle = Lifecycle::Closed;
        let Some(runtime) = state.runtime.take() else {
            return;
        };
        drop(state);
        let mut ending = Ending {
            runtime: Some(runtime),
            end: self.end.clone(),
        };
        // On a thread of its own, since this may be one of those that it waits for.
        let _ = thread::Builder::new().spawn(move || drop(ending.runtime.take()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A runtime that is being shut down.
struct Ending {
    runtime: Option<Runtime>,
    end: Arc<End>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        // There was no thread left to wait on.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.end.come();
    }
}

impl State {
    fn status(&self) -> Result<(), SpawnError> {
        match self.lifecycle {
            Lifecycle::Closed => Err(SpawnError::shutdown()),
            Lifecycle::Open | Lifecycle::UntilIdle => Ok(()),
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("tasks", &self.lock().tasks)
            .finish_non_exhaustive()
    }
}

/// A task of a pool, which counts it.
struct Task {
    /// `None` once it has ended.
    future: Option<Boxed>,
    pool: Arc<Pool>,
}

impl Future for Task {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        struct Restore(Option<Arc<Pool>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.pool.clone())));
        let future = &mut self.future;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = future.as_mut().map_or(Ok(Async::Ready(())), Future::poll);
            if polled != Ok(Async::NotReady) {
                *future = None;
            }
            polled
        }));
        polled.unwrap_or_else(|panic| {
            if let Some(handler) = &self.pool.panic_handler {
                handler(panic);
            }
            Err(())
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        struct Ended<'a>(&'a Pool);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                self.0.task_ended();
            }
        }
        // Also when the future's own drop panics.
        let _ended = Ended(&self.pool);
        self.future = None;
    }
}
