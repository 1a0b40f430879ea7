use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio_executor::park::Park;
use tokio_executor::Enter;

use crate::blocking::Permits;
use crate::pool::{PanicHandler, Pool};
use crate::{ThreadPool, Worker, WorkerId};

/// The largest value of [`Builder::pool_size`] and [`Builder::max_blocking`].
const MAX: usize = (1 << 15) - 1;

/// Settings of a [`ThreadPool`].
pub struct Builder {
    pool_size: usize,
    max_blocking: usize,
    keep_alive: Option<Duration>,
    name_prefix: Option<String>,
    stack_size: Option<usize>,
    after_start: Option<Arc<dyn Fn() + Send + Sync>>,
    before_stop: Option<Arc<dyn Fn() + Send + Sync>>,
    panic_handler: Option<PanicHandler>,
}

impl Builder {
    /// Returns the default: a thread for each CPU, and 100 more for blocking code.
    pub fn new() -> Builder {
        Builder {
            pool_size: thread::available_parallelism().map_or(1, usize::from),
            max_blocking: 100,
            keep_alive: None,
            name_prefix: None,
            stack_size: None,
            after_start: None,
            before_stop: None,
            panic_handler: None,
        }
    }

    /// Sets how many threads run tasks.
    ///
    /// # Panics
    ///
    /// If `val` is zero or above 32,767.
    pub fn pool_size(&mut self, val: usize) -> &mut Builder {
        assert!(val >= 1, "at least one thread required");
        assert!(val <= MAX, "max value is {MAX}");
        self.pool_size = val;
        self
    }

    /// Sets how many tasks may be in [`blocking()`](crate::blocking()) at the same time.
    ///
    /// # Panics
    ///
    /// If `val` is above 32,767.
    pub fn max_blocking(&mut self, val: usize) -> &mut Builder {
        assert!(val <= MAX, "max value is {MAX}");
        self.max_blocking = val;
        self
    }

    /// Sets how long a thread of blocking code is kept without work; `None` is tokio 1's default,
    /// ten seconds. The threads of [`pool_size`](Builder::pool_size) are always kept.
    pub fn keep_alive(&mut self, val: Option<Duration>) -> &mut Builder {
        self.keep_alive = val;
        self
    }

    /// Calls `f` with the panic of a task. The pool goes on.
    pub fn panic_handler<F>(&mut self, f: F) -> &mut Builder
    where
        F: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Arc::new(f));
        self
    }

    /// Sets the names of the threads: `val` and a number.
    pub fn name_prefix<S: Into<String>>(&mut self, val: S) -> &mut Builder {
        self.name_prefix = Some(val.into());
        self
    }

    /// Sets the size of the threads' stacks in bytes.
    pub fn stack_size(&mut self, val: usize) -> &mut Builder {
        self.stack_size = Some(val);
        self
    }

    /// Does nothing: tokio 1 runs its workers by itself.
    pub fn around_worker<F>(&mut self, f: F) -> &mut Builder
    where
        F: Fn(&Worker, &mut Enter) + Send + Sync + 'static,
    {
        drop(f);
        self
    }

    /// Calls `f` on each thread that starts.
    pub fn after_start<F>(&mut self, f: F) -> &mut Builder
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.after_start = Some(Arc::new(f));
        self
    }

    /// Calls `f` on each thread that ends.
    pub fn before_stop<F>(&mut self, f: F) -> &mut Builder
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.before_stop = Some(Arc::new(f));
        self
    }

    /// Does nothing: tokio 1's workers wait for its own sockets and timers.
    pub fn custom_park<F, P>(&mut self, f: F) -> &mut Builder
    where
        F: Fn(&WorkerId) -> P + 'static,
        P: Park + Send + 'static,
        P::Error: Error,
    {
        drop(f);
        self
    }

    /// Starts a pool.
    ///
    /// # Panics
    ///
    /// If the system has no thread or no descriptor left.
    pub fn build(&self) -> ThreadPool {
        let mut builder = runtime::Builder::new_multi_thread();
        builder
            .enable_all()
            .worker_threads(self.pool_size)
            .max_blocking_threads(self.max_blocking.max(512));
        if let Some(keep_alive) = self.keep_alive {
            builder.thread_keep_alive(keep_alive);
        }
        if let Some(prefix) = self.name_prefix.clone() {
            let threads = AtomicUsize::new(0);
            builder.thread_name_fn(move || {
                format!("{prefix}{}", threads.fetch_add(1, Ordering::Relaxed))
            });
        }
        if let Some(size) = self.stack_size {
            builder.thread_stack_size(size);
        }
        if let Some(call) = self.after_start.clone() {
            builder.on_thread_start(move || call());
        }
        if let Some(call) = self.before_stop.clone() {
            builder.on_thread_stop(move || call());
        }
        let runtime = builder
            .build()
            .unwrap_or_else(|error| panic!("cannot start a thread pool: {error}"));
        let permits = Permits::new(self.max_blocking);
        let pool = Pool::new(runtime, permits, self.panic_handler.clone());
        ThreadPool::of(Arc::new(pool))
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("pool_size", &self.pool_size)
            .field("max_blocking", &self.max_blocking)
            .field("keep_alive", &self.keep_alive)
            .field("name_prefix", &self.name_prefix)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
