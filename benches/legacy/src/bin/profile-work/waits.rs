//! One task that waits again and again, of futures 0.1 or of std, over a leaf of either: what a crossing of the bridge
//! costs is the difference.

use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll as StdPoll, Waker};

use futures::{executor, task, Async, Future, Poll};
use tokio_core_compat::task::{As01, AsStd};

use crate::NoNotify;

/// Wakes its own task that often before it is ready.
struct Leaf {
    left: u64,
}

impl Future for Leaf {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        if self.left == 0 {
            return Ok(Async::Ready(()));
        }
        self.left -= 1;
        task::current().notify();
        Ok(Async::NotReady)
    }
}

/// The same with std's trait.
struct StdLeaf {
    left: u64,
}

impl std::future::Future for StdLeaf {
    type Output = Result<(), ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> StdPoll<Result<(), ()>> {
        if self.left == 0 {
            return StdPoll::Ready(Ok(()));
        }
        self.left -= 1;
        cx.waker().wake_by_ref();
        StdPoll::Pending
    }
}

/// Waits `count` times as `mode` says; none of another mode.
pub fn run(mode: &str, count: u64) -> Option<()> {
    match mode {
        "old" => in_old(Box::new(Leaf { left: count })),
        "std-in-old" => in_old(Box::new(As01::pin(StdLeaf { left: count }))),
        "std" => in_std(Box::pin(StdLeaf { left: count })),
        "old-in-std" => in_std(Box::pin(AsStd::new(Leaf { left: count }))),
        _ => return None,
    }
    Some(())
}

fn in_old(future: Box<dyn Future<Item = (), Error = ()>>) {
    let (mut task, no_notify) = (executor::spawn(black_box(future)), Arc::new(NoNotify));
    while let Ok(Async::NotReady) = task.poll_future_notify(&no_notify, 0) {}
}

fn in_std(future: Pin<Box<dyn std::future::Future<Output = Result<(), ()>>>>) {
    // Opaque: a future that the compiler knows whole, it evaluates itself.
    let mut future = black_box(future);
    let mut context = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {}
}
