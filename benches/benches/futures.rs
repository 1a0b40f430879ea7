//! Single futures: chains of `and_then` of futures 0.1 beside async blocks that await one another, by depth. Each link
//! waits once, so each is entered twice and all outer ones with it.
//!
//! Built without link-time optimisation, as everything with futures 0.1 in it: see "Soundness" in MIGRATION.md.

use std::future::Future as Modern;
use std::hint::black_box;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use futures01::executor::{self, Notify};
use futures01::{future, Async, Future, Poll as OldPoll};

/// Not ready at first, then the number.
struct Leaf {
    number: u64,
    was_polled: bool,
}

fn leaf(number: u64) -> Leaf {
    Leaf {
        number,
        was_polled: false,
    }
}

impl Leaf {
    fn poll(&mut self) -> Option<u64> {
        match std::mem::replace(&mut self.was_polled, true) {
            true => Some(self.number),
            false => None,
        }
    }
}

impl Future for Leaf {
    type Item = u64;
    type Error = ();

    fn poll(&mut self) -> OldPoll<u64, ()> {
        Ok(Leaf::poll(self).map_or(Async::NotReady, Async::Ready))
    }
}

impl Modern for Leaf {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        Leaf::poll(&mut self).map_or(Poll::Pending, Poll::Ready)
    }
}

/// One link for each `-`.
macro_rules! chain {
    ($future:expr;) => { $future };
    ($future:expr; - $($rest:tt)*) => { chain!($future.and_then(|n| leaf(n + 1)); $($rest)*) };
}

macro_rules! nest {
    ($number:expr;) => { async { $number } };
    ($number:expr; - $($rest:tt)*) => {
        async { leaf(nest!($number; $($rest)*).await + 1).await }
    };
}

struct Nobody;

impl Notify for Nobody {
    fn notify(&self, _id: usize) {}
}

// Both go through a pointer that the compiler can't see through: a future that it knows whole, it evaluates itself.

fn run_chain(mut chain: impl Future<Item = u64, Error = ()>, nobody: &Arc<Nobody>) -> u64 {
    let chain: &mut dyn Future<Item = u64, Error = ()> = &mut chain;
    let mut task = executor::spawn(black_box(chain));
    loop {
        match task.poll_future_notify(nobody, 0) {
            Ok(Async::Ready(number)) => return number,
            Ok(Async::NotReady) => {}
            Err(()) => unreachable!("no link fails"),
        }
    }
}

fn run_async(future: impl Modern<Output = u64>) -> u64 {
    let future: Pin<&mut dyn Modern<Output = u64>> = pin!(future);
    let mut future = black_box(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(number) = future.as_mut().poll(&mut context) {
            return number;
        }
    }
}

fn depths(c: &mut Criterion) {
    let nobody = Arc::new(Nobody);
    let mut group = c.benchmark_group("links that wait once");
    macro_rules! depth {
        ($depth:literal: $($links:tt)*) => {
            let start = || future::ok::<u64, ()>(black_box(0));
            assert_eq!(run_chain(chain!(start(); $($links)*), &nobody), $depth);
            assert_eq!(run_async(nest!(0; $($links)*)), $depth);
            group.bench_function(BenchmarkId::new("and_then of futures 0.1", $depth), |b| {
                b.iter(|| run_chain(chain!(start(); $($links)*), &nobody))
            });
            group.bench_function(BenchmarkId::new("async", $depth), |b| {
                b.iter(|| run_async(nest!(black_box(0); $($links)*)))
            });
        };
    }
    depth!(1: -);
    depth!(2: - -);
    depth!(4: - - - -);
    depth!(8: - - - - - - - -);
    group.finish();
}

criterion_group!(benches, depths);
criterion_main!(benches);
