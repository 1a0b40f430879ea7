//! The budget of what a Core polls, counted in ready polls between two polls of another task.

use std::io;
use std::task::Poll;

use futures01::{Async, Future as _, Stream as Stream01};
use futures_util::StreamExt as _;
use tokio::runtime::Builder;
use tokio_core::reactor::{Core, Handle};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::spawn::{on_handle, on_remote_std};
use tokio_core_compat::task::{As01, AsStd};

use crate::common::meter::{Meter, ALL, BOUND};
use crate::common::watched;

/// A Core may poll one task twice before it comes to the next.
const ON_A_CORE: usize = 2 * BOUND;

/// Spawns a task that only counts its polls.
fn other(meter: &Meter, handle: &Handle) {
    let meter = meter.clone();
    handle.spawn(futures01::future::poll_fn(move || {
        meter.other();
        futures01::task::current().notify();
        Ok(Async::NotReady)
    }));
}

/// Async code that is always ready, of this crate and of tokio's own.
async fn busy(meter: Meter, tokio_s: bool) -> usize {
    if tokio_s {
        let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
        tx.send(()).unwrap();
        while meter.step() {
            rx.recv().await.unwrap();
            tx.send(()).unwrap();
        }
    } else {
        AsStd::new(meter.stream()).for_each(|_| async {}).await;
    }
    meter.most()
}

#[test]
fn run_std_leaves_the_others_their_turn() {
    for (tokio_s, inside) in [(false, false), (false, true), (true, false), (true, true)] {
        let most = watched(move || {
            let runtime = Builder::new_current_thread().build().unwrap();
            let inside = inside.then(|| runtime.enter());
            let core = CoreThread::new("a core").unwrap();
            drop(inside);
            let call = core.run_std(move |handle| {
                let meter = Meter::default();
                other(&meter, handle);
                busy(meter, tokio_s)
            });
            runtime.block_on(call).unwrap()
        });
        assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");
    }
}

/// The choice of `CoreThread::run`: nothing outside of a 0.1 loop can interrupt it, and what it
/// loops over does so where that is an adapter.
#[test]
fn run_has_no_budget_but_that_of_the_adapters_in_it() {
    fn most<S>(items: fn(&Meter) -> S) -> usize
    where
        S: Stream01<Item = (), Error = io::Error> + 'static,
    {
        watched(move || {
            let core = CoreThread::new("a core").unwrap();
            let call = core.run(move |handle| {
                let meter = Meter::default();
                other(&meter, handle);
                let busy = items(&meter).for_each(|()| Ok(()));
                busy.map(move |()| meter.most())
            });
            Builder::new_current_thread()
                .build()
                .unwrap()
                .block_on(call)
                .unwrap()
                .unwrap()
        })
    }
    assert_eq!(most(|meter| meter.stream()), ALL);
    let most = most(|meter| As01::new(meter.std_stream()));
    assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");
}

#[test]
fn so_do_on_handle_and_on_remote_std() {
    for tokio_s in [false, true] {
        watched(move || {
            let mut core = Core::new().unwrap();
            let handle = core.handle();
            let meter = Meter::default();
            other(&meter, &handle);
            let call = on_handle(&handle, busy(meter, tokio_s));
            let most = core.run(As01::new(call)).unwrap();
            assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");

            let call = on_remote_std(&core.remote(), move |handle| {
                let meter = Meter::default();
                other(&meter, handle);
                busy(meter, tokio_s)
            });
            let most = core.run(As01::new(call)).unwrap();
            assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");
        });
    }
}

/// Code without a `Context`, in a future that was woken through the 0.1 task.
#[test]
fn a_notified_0_1_task_polls_the_async_code_in_it() {
    watched(|| {
        let mut core = Core::new().unwrap();
        let mut polls = 0;
        let call = on_handle(
            &core.handle(),
            std::future::poll_fn(move |_| {
                polls += 1;
                if polls == 3 {
                    return Poll::Ready(polls);
                }
                futures01::task::current().notify();
                Poll::Pending
            }),
        );
        assert_eq!(core.run(As01::new(call)).unwrap(), 3);
    });
}
