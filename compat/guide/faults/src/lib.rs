//! The same futures for each pair of versions, with a watchdog: what is known to spin for ever is
//! left behind on its thread, to the end of the process.

use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::stream::FuturesUnordered;
use futures_util::compat::{Compat, Compat01As03};
use futures_util::StreamExt as _;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// More than the 128 that a task of tokio may receive before it has to yield.
pub const MANY: usize = 200;

/// As many futures as that, all of them ready.
pub fn all_ready() -> FuturesUnordered<Compat<oneshot::Receiver<usize>>> {
    (0..MANY)
        .map(|n| {
            let (tx, rx) = oneshot::channel();
            tx.send(n).expect("the receiver is here");
            Compat::new(rx)
        })
        .collect()
}

/// Takes all items out of the set, in a task of tokio's.
pub async fn drain() -> usize {
    Compat01As03::new(all_ready()).count().await
}

/// What `f` returns, or none if that takes longer than `timeout`.
pub fn within<T: Send + 'static>(
    timeout: Duration,
    f: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, returned) = mpsc::channel();
    thread::spawn(move || done.send(f()));
    returned.recv_timeout(timeout).ok()
}

/// The number of items that a future counts on its own runtime, if it does so in time.
pub fn count<F: Future<Output = usize> + 'static>(
    timeout: Duration,
    count: fn() -> F,
) -> Option<usize> {
    within(timeout, move || {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(count())
    })
}
