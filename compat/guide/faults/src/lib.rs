//! futures 0.1 before 0.1.30, under the budget that tokio gives to each poll. What 0.1.31 does is shown
//! in `../tests/traps/streams.rs`.
//!
//! Each test has a watchdog: what spins for ever is left behind on its thread, to the end of the
//! process.
#![cfg(test)]

use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::stream::FuturesUnordered;
use futures01::{Future as _, Stream as _};
use futures_util::compat::{Compat, Compat01As03};
use futures_util::StreamExt as _;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// More than the 128 that a task of tokio may receive before it has to yield.
const MANY: usize = 200;

/// As many futures as that, all of them ready.
fn all_ready() -> FuturesUnordered<Compat<oneshot::Receiver<usize>>> {
    (0..MANY)
        .map(|n| {
            let (tx, rx) = oneshot::channel();
            tx.send(n).expect("the receiver is here");
            Compat::new(rx)
        })
        .collect()
}

/// Takes all items out of the set, in a task of tokio's.
async fn drain() -> usize {
    Compat01As03::new(all_ready()).count().await
}

/// What `f` returns, or none if that takes longer than `timeout`.
fn within<T: Send + 'static>(
    timeout: Duration,
    f: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, returned) = mpsc::channel();
    thread::spawn(move || done.send(f()));
    returned.recv_timeout(timeout).ok()
}

/// The number of items that a future counts on its own runtime, if it does so in time.
fn count<F: Future<Output = usize> + 'static>(
    timeout: Duration,
    count: fn() -> F,
) -> Option<usize> {
    within(timeout, move || {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(count())
    })
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn row_24_a_set_without_budget_spins_for_ever() {
    // futures 0.1: there is no budget.
    let waited = within(LONG, || all_ready().collect().wait().map(|all| all.len()));
    assert_eq!(waited, Some(Ok(MANY)));

    // Right, where neither futures 0.1.30 nor a tokio of today can be had: no budget.
    let unconstrained = count(LONG, || tokio::task::unconstrained(drain()));
    assert_eq!(unconstrained, Some(MANY));

    // Naive: without budget, each receiver is pending and rings at once. The set polls it again
    // without ever returning to the scheduler, which would give it a new budget.
    assert_eq!(count(Duration::from_secs(2), drain), None);
}
