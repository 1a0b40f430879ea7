//! What several tests need to look at tasks from the outside.
#![allow(dead_code, reason = "each test crate uses its part of this")]

pub mod meter;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures01::executor::{self, Notify, Spawn};
use futures01::{Future as Future01, Poll as Poll01, Stream as Stream01};
use futures_core::Stream;
use tokio::runtime::{Builder, Runtime};

/// A bell that counts how often it was rung, for either generation.
#[derive(Default)]
pub struct Bell(AtomicUsize);

impl Bell {
    pub fn new() -> Arc<Bell> {
        Arc::default()
    }

    pub fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn ring(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Polls a std future, whose task this bell is.
    pub fn poll<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(self.clone())))
    }

    /// Polls a std stream, whose task this bell is.
    pub fn poll_next<S: Stream + Unpin>(self: &Arc<Self>, stream: &mut S) -> Poll<Option<S::Item>> {
        Pin::new(stream).poll_next(&mut Context::from_waker(&Waker::from(self.clone())))
    }

    /// Polls a 0.1 future, whose task this bell is.
    pub fn poll_01<F: Future01>(
        self: &Arc<Self>,
        task: &mut Spawn<F>,
    ) -> Poll01<F::Item, F::Error> {
        task.poll_future_notify(self, 0)
    }

    /// Polls a 0.1 stream, whose task this bell is.
    pub fn poll_stream_01<S: Stream01>(
        self: &Arc<Self>,
        task: &mut Spawn<S>,
    ) -> Poll01<Option<S::Item>, S::Error> {
        task.poll_stream_notify(self, 0)
    }

    /// Runs `f` inside a 0.1 task, whose task this bell is.
    pub fn enter_01<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        executor::spawn(()).poll_fn_notify(self, 0, |()| f())
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Notify for Bell {
    fn notify(&self, _id: usize) {
        self.ring();
    }
}

/// How long a test may hang before it is called hung.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `f` on a thread; a hang fails the test.
pub fn watched<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tx, rx) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _ = tx.send(f());
    });
    match rx.recv_timeout(TIMEOUT) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("hung for {TIMEOUT:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}

/// Runs a future on a current-thread runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

/// Waits until `bell` was rung that often, and fails if it was rung more often.
pub async fn rings(bell: &Bell, times: usize) {
    while bell.rung() < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(bell.rung(), times);
}

/// Runs `f` on a current-thread and on a multi-thread runtime; a hang fails the test.
pub fn on_each_runtime(f: impl Fn(&Runtime) + Copy + Send + 'static) {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        watched(move || f(&builder.worker_threads(2).enable_all().build().unwrap()));
    }
}

/// The patch level of the tokio-core that this was built with: 12 or 18.
pub fn tokio_core_patch() -> u32 {
    locked("version = \"0.1.")
        .and_then(|patch| patch.parse().ok())
        .expect("a number")
}

/// Whether that is the drop-in, which comes from no registry.
pub fn on_the_drop_in() -> bool {
    locked("source = \"").is_none()
}

/// The rest of the line that begins like this, of what the lock file says of tokio-core.
fn locked(line: &str) -> Option<String> {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = manifest
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"))
        .find(|lock| lock.exists())
        .expect("the lock file of this manifest, or of its workspace");
    let lock = std::fs::read_to_string(lock).expect("it is readable");
    let (_, after) = lock.split_once("name = \"tokio-core\"\n").expect("locked");
    let entry = after.split("\n\n").next()?;
    let rest = entry.lines().find_map(|l| l.strip_prefix(line))?;
    Some(rest.trim_end_matches('"').to_owned())
}
