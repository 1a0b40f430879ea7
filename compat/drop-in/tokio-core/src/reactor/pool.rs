//! The threads behind `Handle::spawn_send`.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use futures::sync::oneshot;
use futures::Future;

use super::{Core, Remote};

/// One Core on each of some threads. Dropping it ends them.
pub(super) struct Pool {
    workers: Vec<Worker>,
    next: AtomicUsize,
}

struct Worker {
    remote: Remote,
    _stop: oneshot::Sender<()>,
}

impl Pool {
    pub(super) fn start() -> Pool {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Pool {
            workers: (0..threads).map(|_| Worker::start()).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Spawns onto the threads in turn.
    pub(super) fn spawn(&self, future: impl Future<Item = (), Error = ()> + Send + 'static) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.workers.len();
        self.workers[next].remote.spawn(|_| future);
    }
}

impl Worker {
    fn start() -> Worker {
        let (stop, mut stopped) = oneshot::channel::<()>();
        let (started, remote) = mpsc::channel();
        thread::Builder::new()
            .name("tokio-core-pool".into())
            .spawn(move || {
                let mut core = Core::new().expect("a Core for a thread of spawn_send");
                if started.send(core.remote()).is_err() {
                    return;
                }
                // A task's panic ends that task, which the Core has dropped.
                while catch_unwind(AssertUnwindSafe(|| core.run(&mut stopped))).is_err() {}
            })
            .expect("a thread for spawn_send");
        Worker {
            remote: remote.recv().expect("the thread makes its Core first"),
            _stop: stop,
        }
    }
}
