//! Rows 38 to 50: where a task runs, and what reports its panic.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::{future, Future as _};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tokio_core::reactor::Core;
use tokio_core_compat::spawn::Local;

use crate::common::watched;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// What a panic said.
fn message(panic: Box<dyn std::any::Any + Send>) -> &'static str {
    panic.downcast_ref::<&str>().copied().expect("a literal")
}

#[test]
fn row_38_a_panic_of_a_task_is_swallowed() {
    watched(|| {
        // futures 0.1: it unwinds through the Core, and the program ends.
        let mut core = Core::new().unwrap();
        core.handle().spawn(future::lazy(|| -> Result<(), ()> {
            panic!("a broken invariant")
        }));
        let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
        assert_eq!(
            message(catch_unwind(run).unwrap_err()),
            "a broken invariant"
        );

        // Naive: the task is gone, the program stays.
        runtime().block_on(async {
            let (begin, begun) = tokio::sync::oneshot::channel();
            drop(tokio::spawn(async move {
                begin.send(()).unwrap();
                panic!("a broken invariant")
            }));
            assert_eq!(begun.await, Ok(()));
            tokio::task::yield_now().await;
        });

        // Right: every JoinHandle is awaited.
        let run = AssertUnwindSafe(|| {
            runtime().block_on(async {
                let task = tokio::spawn(async { panic!("a broken invariant") });
                if let Err(error) = task.await {
                    std::panic::resume_unwind(error.into_panic());
                }
            });
        });
        assert_eq!(
            message(catch_unwind(run).unwrap_err()),
            "a broken invariant"
        );
    });
}

#[test]
fn row_48_block_on_leaves_tasks_behind() {
    watched(|| {
        // futures 0.1: a task that is left over pauses, and goes on when the Core is run again.
        let mut core = Core::new().unwrap();
        let (go, gone) = futures01::sync::oneshot::channel::<()>();
        let done = Rc::new(Cell::new(false));
        let set = done.clone();
        core.handle().spawn(gone.then(move |_| {
            set.set(true);
            Ok(())
        }));
        core.run(future::ok::<(), ()>(())).unwrap();
        go.send(()).unwrap();
        assert!(!done.get());
        while !done.get() {
            core.turn(Some(Duration::from_millis(10)));
        }

        // Naive: `main` returns, the runtime is dropped, and the task with it, in the middle.
        let (tx, rx) = mpsc::channel();
        let runtime = runtime();
        runtime.block_on(async {
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                tx.send("flushed").unwrap();
            });
        });
        drop(runtime);
        assert_eq!(rx.recv(), Err(mpsc::RecvError));

        // Right: what must not be cut short is awaited.
        let flushed = self::runtime().block_on(async {
            let task = tokio::spawn(async {
                tokio::task::yield_now().await;
                "flushed"
            });
            task.await.unwrap()
        });
        assert_eq!(flushed, "flushed");
    });
}

#[test]
fn row_49_spawn_local_needs_its_place() {
    // futures 0.1: once the Core is gone, a future is dropped without a word.
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    handle.spawn(future::lazy(|| -> Result<(), ()> {
        unreachable!("nobody runs it")
    }));

    // Naive: `spawn_local` finds its set in a variable, and panics where there is none: in a
    // task of `tokio::spawn`, in `block_on`, in a destructor.
    let run = AssertUnwindSafe(|| {
        runtime().block_on(async { drop(tokio::task::spawn_local(async {})) });
    });
    assert!(catch_unwind(run).is_err());

    // Right: a handle that knows its place, and says when that is gone.
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (tx, rx) = tokio::sync::oneshot::channel();
    local
        .handle()
        .try_spawn(future::lazy(|| tx.send(1).map_err(|_| ())))
        .unwrap();
    assert_eq!(runtime.block_on(local.run_until(rx)), Ok(1));
    let handle = local.handle();
    drop(local);
    assert!(handle.try_spawn(future::ok(())).is_err());
}

#[test]
fn row_50_only_the_closure_was_send() {
    watched(|| {
        // futures 0.1: the closure crosses over, makes what is not Send, and stays there.
        let mut core = Core::new().unwrap();
        let remote = core.remote();
        let (tx, rx) = futures01::sync::oneshot::channel();
        thread::spawn(move || {
            remote.spawn(|_| {
                let here = Rc::new(thread::current().id());
                future::lazy(move || tx.send(*here).map_err(drop))
            });
        });
        assert_eq!(core.run(rx), Ok(thread::current().id()));

        // Naive: made Send to please the compiler, it runs on whichever thread of the pool.
        let pool = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let task = pool.handle().spawn(async { thread::current().id() });
        let elsewhere = pool.block_on(task).unwrap();
        assert_ne!(elsewhere, thread::current().id());

        // Right: a channel of closures to the thread of a LocalSet. `spawn::Remote` is that.
        let (tx, mut jobs) = tokio::sync::mpsc::unbounded_channel::<Box<dyn FnOnce() + Send>>();
        let (answer, answered) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            let job = move || {
                let here = Rc::new(thread::current().id());
                drop(tokio::task::spawn_local(async move { answer.send(*here) }));
            };
            tx.send(Box::new(job)).map_err(drop).unwrap();
        });
        let here = LocalSet::new().block_on(&runtime(), async {
            while let Some(job) = jobs.recv().await {
                job();
            }
            answered.await
        });
        assert_eq!(here, Ok(thread::current().id()));
    });
}
