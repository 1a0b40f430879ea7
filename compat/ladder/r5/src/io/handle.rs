//! The tasks of one thread, on its own runtime.
//!
//! tokio 1 keeps a task's panic in a `JoinHandle` that may never be read. Here the panic of a
//! tunnel ends that tunnel and is logged; that of a critical task, which ptunnel can't serve
//! without, ends the program.

use std::any::Any;
use std::future::{poll_fn, Future};
use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::task::Poll;

use log::error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::{spawn_local, LocalSet};

use ptunnel_core::error::Error;
use ptunnel_core::os::panics::message;
use ptunnel_core::os::sys::ReservedFd;

/// Returns a runtime for this thread alone.
///
/// # Errors
///
/// `Error::other` if there are no descriptors for it.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::other("cannot start a reactor", e))
}

/// Spawns the tasks of one thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    critical_panics: mpsc::UnboundedSender<Panic>,
}

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

impl Handle {
    /// Runs the future that `start` makes on a new runtime, and drops the tasks that it has spawned
    /// with it.
    ///
    /// # Errors
    ///
    /// `Error::other` if there are no descriptors for a runtime.
    ///
    /// # Panics
    ///
    /// If the future panics, or a critical task does.
    pub fn run<F: Future>(start: impl FnOnce(Handle) -> F) -> Result<F::Output, Error> {
        let runtime = runtime()?;
        let tasks = LocalSet::new();
        let (critical_panics, mut panics) = mpsc::unbounded_channel();
        let work = async {
            let work = start(Handle { critical_panics });
            tokio::select! {
                biased;
                Some(panic) = panics.recv() => resume_unwind(panic),
                end = work => end,
            }
        };
        Ok(tasks.block_on(&runtime, work))
    }

    /// Spawns a task, inside of [`run`](Handle::run). Its panic is logged, and ends nothing else.
    #[allow(clippy::disallowed_methods)] // its panic is caught
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let caught = caught(Box::pin(task));
        spawn_local(async {
            if let Err(panic) = caught.await {
                error!("a task panicked and was ended: {}", message(&*panic));
            }
        });
    }

    /// Spawns a task that ptunnel can't serve without: its panic continues in [`run`](Handle::run).
    #[allow(clippy::disallowed_methods)] // its panic is caught
    pub fn spawn_critical(&self, task: impl Future<Output = ()> + 'static) {
        let (caught, panics) = (caught(Box::pin(task)), self.critical_panics.clone());
        spawn_local(async move {
            if let Err(panic) = caught.await {
                let _ = panics.send(panic); // fails if `run` has ended
            }
        });
    }

    /// Reserves a descriptor, to be dropped when one is needed.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is none.
    pub(crate) fn reserve_fd(&self) -> io::Result<ReservedFd> {
        ReservedFd::of(&io::stderr())
    }
}

/// Runs a task up to its end or its panic.
///
/// Boxed, since an argument of an `async fn` that is pinned inside takes its memory twice.
async fn caught(mut task: Pin<Box<dyn Future<Output = ()>>>) -> Result<(), Panic> {
    poll_fn(|cx| {
        let poll = || task.as_mut().poll(cx);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;

    use log::{LevelFilter, Log, Metadata, Record};
    use tokio::task::yield_now;

    use super::*;

    static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

    struct Logger;

    impl Log for Logger {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            LOGGED.lock().unwrap().push(record.args().to_string());
        }

        fn flush(&self) {}
    }

    #[test]
    fn a_panic_of_a_tunnel_is_logged_and_the_next_one_is_served() {
        log::set_logger(&Logger).expect("there is no other");
        log::set_max_level(LevelFilter::Error);
        let served = Handle::run(|handle| async move {
            handle.spawn(async { panic!("a tunnel panics on purpose") });
            yield_now().await;
            let (sender, served) = tokio::sync::oneshot::channel();
            handle.spawn(async { sender.send("served").unwrap() });
            served.await.unwrap()
        });
        assert_eq!(served.unwrap(), "served");
        let logged = "a task panicked and was ended: a tunnel panics on purpose".to_owned();
        assert!(LOGGED.lock().unwrap().contains(&logged));
    }

    /// Regression: it continued, though the task that ticks its timer had ended.
    #[test]
    fn a_panic_of_a_critical_task_goes_on_in_run() {
        let run = || {
            Handle::run(|handle| async move {
                handle.spawn_critical(async { panic!("the clock panics on purpose") });
                pending::<()>().await;
            })
        };
        let panic = catch_unwind(run).unwrap_err();
        assert_eq!(message(&*panic), "the clock panics on purpose");
    }
}
