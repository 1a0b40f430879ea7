//! futures 0.1 before 0.1.30, under the budget that tokio gives to each poll.

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

/// The number of items, or none if that takes longer than anything could.
fn count<F: Future<Output = usize> + 'static>(count: fn() -> F) -> Option<usize> {
    let (done, counted) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let _ = done.send(runtime.block_on(count()));
    });
    counted.recv_timeout(Duration::from_secs(2)).ok()
}

async fn drain() -> usize {
    Compat01As03::new(all_ready()).count().await
}

#[test]
fn row_24_a_set_without_budget_spins_for_ever() {
    // futures 0.1: nobody counts.
    let (done, counted) = mpsc::channel();
    thread::spawn(move || done.send(all_ready().collect().wait().map(|all| all.len())));
    assert_eq!(counted.recv_timeout(Duration::from_secs(20)), Ok(Ok(MANY)));

    // Right: futures 0.1.30; or a tokio of today; or, where neither can be had, no budget.
    assert_eq!(count(|| tokio::task::unconstrained(drain())), Some(MANY));

    // Naive: without budget, each receiver is pending and rings at once. The set polls it again
    // without ever returning to the one who would give it a new budget. (Last, since its thread
    // spins until the end of the process.)
    assert_eq!(count(drain), None);
}
