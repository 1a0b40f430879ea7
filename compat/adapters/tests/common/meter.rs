//! Counts how long a task keeps the others waiting.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::Poll;

use futures01::{stream, Async, Stream as Stream01};

/// What one task gets done between two polls of another: tokio's number, and the poll that ends it.
pub const BOUND: usize = 129;

/// What a task without a budget does in one poll.
pub const ALL: usize = 10_000;

/// Counts what a busy task does, and how much of it the other had to wait for at most.
#[derive(Clone, Default)]
pub struct Meter(Arc<Counts>);

#[derive(Default)]
struct Counts {
    since: AtomicUsize,
    most: AtomicUsize,
    total: AtomicUsize,
}

impl Meter {
    /// Counts one step of the busy task; false when it is to end.
    pub fn step(&self) -> bool {
        self.0.since.fetch_add(1, Relaxed);
        self.0.total.fetch_add(1, Relaxed) + 1 < ALL
    }

    /// The other task was polled.
    pub fn other(&self) {
        self.0
            .most
            .fetch_max(self.0.since.swap(0, Relaxed), Relaxed);
    }

    /// The most that was done at a stretch, once all is done.
    pub fn most(&self) -> usize {
        self.other();
        let total = self.0.total.load(Relaxed);
        assert_eq!(total, ALL, "the busy task ended too early");
        self.0.most.load(Relaxed)
    }

    /// A 0.1 stream that is always ready.
    pub fn stream(&self) -> impl Stream01<Item = (), Error = io::Error> + Send {
        let meter = self.clone();
        stream::poll_fn(move || Ok(Async::Ready(meter.step().then_some(()))))
    }

    /// Its like of std.
    pub fn std_stream(&self) -> impl futures_core::Stream<Item = io::Result<()>> + Unpin + Send {
        let meter = self.clone();
        futures_util::stream::poll_fn(move |_| Poll::Ready(meter.step().then_some(Ok(()))))
    }
}
