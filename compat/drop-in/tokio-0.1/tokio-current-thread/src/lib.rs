//! tokio-current-thread 0.1, whose task handles are sound on today's compilers.
//!
//! What a task finds of a runtime is that of the [`Park`] inside.

#![warn(missing_docs, missing_debug_implementations)]
#![forbid(unsafe_code)]

mod error;
mod handle;
mod tasks;

use std::fmt;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use futures::{executor, Async, Future};
use tokio_executor::on_tokio_1::Notifier;
use tokio_executor::park::{Park, ParkThread};
use tokio_executor::{Enter, SpawnError, TypedExecutor};

pub use self::error::{BlockError, RunError, RunTimeoutError, TurnError};
pub use self::handle::{Handle, TaskExecutor};
use self::tasks::Tasks;

/// Runs tasks on the thread that it is on.
///
/// Dropping it drops its tasks.
pub struct CurrentThread<P: Park = ParkThread> {
    tasks: Rc<Tasks>,
    park: P,
}

/// A [`CurrentThread`] on a thread that is marked by [`enter`](tokio_executor::enter()).
pub struct Entered<'a, P: Park + 'a> {
    executor: &'a mut CurrentThread<P>,
    enter: &'a mut Enter,
}

/// What a [`turn`](CurrentThread::turn) did.
#[derive(Debug)]
pub struct Turn {
    polled: bool,
}

impl Turn {
    /// Returns whether a task was polled.
    pub fn has_polled(&self) -> bool {
        self.polled
    }
}

/// Runs `future` and all that it spawns on this thread.
///
/// # Errors
///
/// The error of `future`.
///
/// # Panics
///
/// If the thread runs an executor already.
pub fn block_on_all<F>(future: F) -> Result<F::Item, F::Error>
where
    F: Future,
{
    let mut executor = CurrentThread::new();
    let result = executor.block_on(future);
    executor.run().expect("ParkThread never fails");
    result.map_err(|error| error.into_inner().expect("ParkThread never fails"))
}

/// Starts a task on the executor that is polling on this thread.
///
/// # Panics
///
/// If there is none.
pub fn spawn<F>(future: F)
where
    F: Future<Item = (), Error = ()> + 'static,
{
    let spawned = TaskExecutor::current().spawn_local(Box::new(future));
    spawned.expect("call it in a task of a current_thread executor");
}

fn enter() -> Enter {
    tokio_executor::enter().expect("failed to start `current_thread::Runtime`")
}

impl CurrentThread<ParkThread> {
    /// Returns an executor that serves no socket and no timer.
    pub fn new() -> CurrentThread<ParkThread> {
        CurrentThread::new_with_park(ParkThread::new())
    }
}

impl Default for CurrentThread<ParkThread> {
    fn default() -> CurrentThread<ParkThread> {
        CurrentThread::new()
    }
}

impl<P: Park> CurrentThread<P> {
    /// Returns an executor that waits with `park`.
    pub fn new_with_park(park: P) -> CurrentThread<P> {
        let tasks = Tasks::new(park.unpark());
        CurrentThread { tasks, park }
    }

    /// Returns whether all tasks have ended.
    pub fn is_idle(&self) -> bool {
        self.tasks.queue.tasks() == 0
    }

    /// Starts a task, which is polled when the executor runs.
    pub fn spawn<F>(&mut self, future: F) -> &mut CurrentThread<P>
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        self.tasks.spawn(Box::new(future));
        self
    }

    /// Runs `future`, and the tasks meanwhile.
    ///
    /// # Errors
    ///
    /// The error of `future`, or that of the `Park` inside.
    ///
    /// # Panics
    ///
    /// If the thread runs an executor already.
    pub fn block_on<F>(&mut self, future: F) -> Result<F::Item, BlockError<F::Error>>
    where
        F: Future,
    {
        self.enter(&mut enter()).block_on(future)
    }

    /// Runs until all tasks have ended.
    ///
    /// # Errors
    ///
    /// That of the `Park` inside.
    ///
    /// # Panics
    ///
    /// If the thread runs an executor already.
    pub fn run(&mut self) -> Result<(), RunError> {
        self.enter(&mut enter()).run()
    }

    /// Runs until all tasks have ended, for `duration` at most.
    ///
    /// # Errors
    ///
    /// If the time is over, or that of the `Park` inside.
    ///
    /// # Panics
    ///
    /// If the thread runs an executor already.
    pub fn run_timeout(&mut self, duration: Duration) -> Result<(), RunTimeoutError> {
        self.enter(&mut enter()).run_timeout(duration)
    }

    /// Waits once, for `duration` at most, and polls what is ready.
    ///
    /// # Errors
    ///
    /// That of the `Park` inside.
    ///
    /// # Panics
    ///
    /// If the thread runs an executor already.
    pub fn turn(&mut self, duration: Option<Duration>) -> Result<Turn, TurnError> {
        self.enter(&mut enter()).turn(duration)
    }

    /// Runs on a thread that is marked already.
    pub fn enter<'a>(&'a mut self, enter: &'a mut Enter) -> Entered<'a, P> {
        Entered {
            executor: self,
            enter,
        }
    }

    /// Returns the `Park` inside.
    pub fn get_park(&self) -> &P {
        &self.park
    }

    /// Returns the `Park` inside.
    pub fn get_park_mut(&mut self) -> &mut P {
        &mut self.park
    }

    /// Returns what spawns onto this executor from other threads.
    pub fn handle(&self) -> Handle {
        Handle::new(self.tasks.queue.clone())
    }
}

impl<P: Park> Drop for CurrentThread<P> {
    fn drop(&mut self) {
        self.tasks.close();
    }
}

impl tokio_executor::Executor for CurrentThread {
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError> {
        self.tasks.spawn(future);
        Ok(())
    }
}

impl<T> TypedExecutor<T> for CurrentThread
where
    T: Future<Item = (), Error = ()> + 'static,
{
    fn spawn(&mut self, future: T) -> Result<(), SpawnError> {
        self.tasks.spawn(Box::new(future));
        Ok(())
    }
}

impl<P: Park> fmt::Debug for CurrentThread<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentThread")
            .field("tasks", &self.tasks.queue.tasks())
            .finish_non_exhaustive()
    }
}

impl<P: Park> Entered<'_, P> {
    /// Starts a task, which is polled when the executor runs.
    pub fn spawn<F>(&mut self, future: F) -> &mut Self
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        self.executor.spawn(future);
        self
    }

    /// Runs `future`, and the tasks meanwhile.
    ///
    /// # Errors
    ///
    /// The error of `future`, or that of the `Park` inside.
    pub fn block_on<F>(&mut self, future: F) -> Result<F::Item, BlockError<F::Error>>
    where
        F: Future,
    {
        let tasks = self.executor.tasks.clone();
        let notifier = Notifier::new(Waker::from(tasks.queue.clone()));
        let mut main = executor::spawn(future);
        loop {
            match tasks.enter(|| main.poll_future_notify(&notifier, 0)) {
                Ok(Async::Ready(item)) => return Ok(item),
                Ok(Async::NotReady) => {}
                Err(error) => return Err(BlockError { inner: Some(error) }),
            }
            tasks.tick();
            if self.executor.park.park().is_err() {
                return Err(BlockError { inner: None });
            }
        }
    }

    /// Runs until all tasks have ended.
    ///
    /// # Errors
    ///
    /// That of the `Park` inside.
    pub fn run(&mut self) -> Result<(), RunError> {
        self.run_until(None).map_err(|_| RunError { _p: () })
    }

    /// Runs until all tasks have ended, for `duration` at most.
    ///
    /// # Errors
    ///
    /// If the time is over, or that of the `Park` inside.
    pub fn run_timeout(&mut self, duration: Duration) -> Result<(), RunTimeoutError> {
        self.run_until(Some(Instant::now() + duration))
    }

    /// Waits once, for `duration` at most, and polls what is ready.
    ///
    /// # Errors
    ///
    /// That of the `Park` inside.
    pub fn turn(&mut self, duration: Option<Duration>) -> Result<Turn, TurnError> {
        let CurrentThread { tasks, park } = self.executor;
        let parked = match duration {
            _ if tasks.is_ready() => park.park_timeout(Duration::ZERO),
            Some(duration) => park.park_timeout(duration),
            None => park.park(),
        };
        parked.map_err(|_| TurnError { _p: () })?;
        Ok(Turn {
            polled: tasks.tick(),
        })
    }

    /// Returns the `Park` inside.
    pub fn get_park(&self) -> &P {
        &self.executor.park
    }

    /// Returns the `Park` inside.
    pub fn get_park_mut(&mut self) -> &mut P {
        &mut self.executor.park
    }

    fn run_until(&mut self, end: Option<Instant>) -> Result<(), RunTimeoutError> {
        let mut is_over = false;
        while !self.executor.is_idle() {
            if is_over {
                return Err(RunTimeoutError { timeout: true });
            }
            self.executor.tasks.tick();
            if self.executor.is_idle() {
                break;
            }
            let park = &mut self.executor.park;
            let parked = match end {
                Some(end) => park.park_timeout(end.saturating_duration_since(Instant::now())),
                None => park.park(),
            };
            parked.map_err(|_| RunTimeoutError { timeout: false })?;
            is_over = end.is_some_and(|end| Instant::now() >= end);
        }
        Ok(())
    }
}

impl<P: Park> fmt::Debug for Entered<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered")
            .field("executor", &self.executor)
            .field("enter", &self.enter)
            .finish()
    }
}
