//! Spawning in both directions: `!Send` tasks, panics, cancellation, and the other side gone.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;

use futures01::future::{self, ExecuteErrorKind, Executor};
use futures01::{Async, Future as _};
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio_core::reactor::Core;
use tokio_core_compat::spawn::{on_handle, on_remote, on_remote_std, Gone, Local, Lost, Spawner};
use tokio_core_compat::task::{As01, AsStd};

use crate::common::watched;

fn runtime() -> Runtime {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Dropped, it hangs up.
type Guard = mpsc::Sender<()>;

fn is_dropped(guarded: &mpsc::Receiver<()>) -> bool {
    guarded.try_recv() == Err(mpsc::TryRecvError::Disconnected)
}

// 0.1 code onto tokio 1.

#[test]
fn a_handle_spawns_what_is_not_send() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let handle = local.handle();
    let seen = Rc::new(Cell::new(0));
    let (tx, rx) = futures01::unsync::oneshot::channel();
    handle.spawn_fn({
        let (seen, handle) = (seen.clone(), handle.clone());
        move || {
            seen.set(seen.get() + 1);
            // A task spawns a task.
            handle.spawn(future::lazy(move || tx.send(seen).map_err(drop)));
            Ok(())
        }
    });
    let got = runtime.block_on(local.run_until(AsStd::new(rx))).unwrap();
    assert_eq!(got.get(), 1);
}

#[test]
fn a_remote_spawns_from_another_thread_and_knows_its_own() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let remote = local.remote();
    assert!(remote.handle().is_none(), "not running yet");
    let (tx, rx) = oneshot::channel();
    let home = thread::current().id();
    thread::spawn(move || {
        assert!(remote.handle().is_none());
        let again = remote.clone();
        remote.spawn(move |handle| {
            // The closure was Send, its future is not.
            let rc = Rc::new(thread::current().id());
            assert!(again.handle().is_some());
            handle.spawn(future::lazy(move || tx.send(*rc).map_err(|_| ())));
            Ok(())
        });
    });
    assert_eq!(runtime.block_on(local.run_until(rx)), Ok(home));
}

#[test]
fn a_handle_and_a_remote_spawn_std_futures() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (handle, remote) = (local.handle(), local.remote());
    let seen = Rc::new(Cell::new(0));
    let (tx, rx) = oneshot::channel();
    handle.spawn_std({
        let seen = seen.clone();
        async move {
            tokio::task::yield_now().await;
            seen.set(seen.get() + 1);
            let there = move |_: &_| async move {
                let _ = tx.send(thread::current().id());
            };
            thread::spawn(move || remote.spawn_std(there))
                .join()
                .unwrap();
        }
    });
    let home = thread::current().id();
    assert_eq!(runtime.block_on(local.run_until(rx)), Ok(home));
    assert_eq!(seen.get(), 1);

    handle.spawn_std(async { panic!("a std task") });
    let run = || runtime.block_on(local.run_until(tokio::task::yield_now()));
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());

    drop(local);
    handle.spawn_std(async { unreachable!("nobody polls it") });
    let Gone(back) = handle.try_spawn_std(async {}).unwrap_err();
    runtime.block_on(back);
}

#[test]
fn tasks_left_over_go_on_at_the_next_run() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (tx, rx) = oneshot::channel();
    let (go, gone) = futures01::sync::oneshot::channel();
    local
        .handle()
        .spawn(gone.then(|_: Result<(), _>| tx.send(())));
    runtime.block_on(local.run_until(tokio::task::yield_now()));
    go.send(()).unwrap();
    assert_eq!(runtime.block_on(local.run_until(rx)), Ok(()));
}

#[test]
fn dropping_a_local_drops_its_tasks() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (guard, guarded): (Guard, _) = mpsc::channel();
    local
        .handle()
        .spawn(future::empty().map(move |()| drop(guard)));
    assert!(!is_dropped(&guarded));
    drop(local);
    assert!(is_dropped(&guarded));
}

#[test]
fn once_the_local_is_gone_spawn_is_silent_and_try_spawn_is_not() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (handle, remote) = (local.handle(), local.remote());
    drop(local);

    let (guard, guarded): (Guard, _) = mpsc::channel();
    handle.spawn(future::empty().map(move |()| drop(guard)));
    assert!(is_dropped(&guarded));
    remote.spawn(|_| -> Result<(), ()> { unreachable!("nobody calls it") });

    let Gone(mut back) = handle.try_spawn(future::ok(())).unwrap_err();
    assert_eq!(back.poll(), Ok(Async::Ready(())));
    let error = remote.try_spawn(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("keep it alive"), "{error}");
    let error = Executor::execute(&handle, future::ok(())).unwrap_err();
    assert_eq!(error.kind(), ExecuteErrorKind::Shutdown);
    let error = Executor::execute(&remote, future::ok(())).unwrap_err();
    assert_eq!(error.kind(), ExecuteErrorKind::Shutdown);
}

#[test]
fn of_two_panics_in_one_turn_the_first_is_reported_once() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    for name in ["the first", "the second"] {
        let task = move || -> Result<(), ()> { std::panic::panic_any(name) };
        local.handle().spawn(future::lazy(task));
    }
    let run = AssertUnwindSafe(|| runtime.block_on(local.run_until(std::future::pending::<()>())));
    let panic = catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the first"));
    runtime.block_on(local.run_until(tokio::task::yield_now()));
}

#[test]
fn a_panic_unwinds_out_of_run_until_and_leaves_the_others() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    let (tx, rx) = oneshot::channel();
    let (go, gone) = futures01::sync::oneshot::channel();
    local
        .handle()
        .spawn(gone.then(|_: Result<(), _>| tx.send(())));
    local
        .handle()
        .spawn(future::lazy(|| -> Result<(), ()> { panic!("of a task") }));

    let run = AssertUnwindSafe(|| runtime.block_on(local.run_until(std::future::pending::<()>())));
    let panic = catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"of a task"));

    go.send(()).unwrap();
    assert_eq!(runtime.block_on(local.run_until(rx)), Ok(()));
}

#[test]
fn a_panic_of_a_remote_closure_unwinds_too() {
    let runtime = runtime();
    let local = Local::new(runtime.handle());
    local
        .remote()
        .spawn(|_| -> Result<(), ()> { panic!("of a closure") });
    let run = AssertUnwindSafe(|| runtime.block_on(local.run_until(std::future::pending::<()>())));
    let panic = catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"of a closure"));
}

#[test]
fn a_spawner_answers_through_its_join_handle() {
    let runtime = runtime();
    let spawner = Spawner::new(runtime.handle().clone());
    let failed = spawner.spawn(future::err::<(), _>("refused"));
    assert_eq!(runtime.block_on(failed).unwrap(), Err("refused"));
    let panicked = spawner.spawn(future::lazy(|| -> Result<(), ()> { panic!("in there") }));
    assert!(runtime.block_on(panicked).unwrap_err().is_panic());

    let (guard, guarded): (Guard, _) = mpsc::channel();
    spawner
        .execute(future::empty().map(move |()| drop(guard)))
        .unwrap();
    drop(runtime);
    assert!(is_dropped(&guarded));
    let late = spawner.spawn(future::ok::<_, ()>(()));
    assert!(self::runtime().block_on(late).unwrap_err().is_cancelled());
}

// Async code onto a Core.

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn a_core_runs_std_futures_that_are_not_send() {
    let mut core = Core::new().unwrap();
    let list = Rc::new(RefCell::new(vec![1]));
    let call = on_handle(&core.handle(), {
        let list = list.clone();
        async move {
            list.borrow_mut().push(2);
            list.borrow().len()
        }
    });
    assert_eq!(core.run(As01::new(call)).unwrap(), 2);
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
#[should_panic(expected = "a spawn::Call was polled after its end: await it once")]
fn a_call_that_has_ended_says_so() {
    let mut core = Core::new().unwrap();
    let mut call = on_handle(&core.handle(), async {});
    core.run(As01::new(async_ok(&mut call))).unwrap().unwrap();
    let _ = Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn dropping_a_call_drops_its_future() {
    let mut core = Core::new().unwrap();
    let (guard, guarded): (Guard, _) = mpsc::channel();
    let (started, start) = oneshot::channel();
    let call = on_handle(&core.handle(), async move {
        let _guard = guard;
        started.send(()).unwrap();
        std::future::pending::<()>().await
    });
    core.run(As01::new(start)).unwrap();
    drop(call);
    watched_turn(&mut core, || is_dropped(&guarded));
}

/// Turns the Core until `done`.
fn watched_turn(core: &mut Core, done: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !done() {
        assert!(std::time::Instant::now() < deadline, "hung");
        core.turn(Some(std::time::Duration::from_millis(10)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn a_call_that_is_dropped_before_its_turn_is_never_made() {
    let mut core = Core::new().unwrap();
    let remote = core.remote();
    let (guard, guarded): (Guard, _) = mpsc::channel();
    thread::spawn(move || {
        drop(on_remote(&remote, move |_| -> Result<(), ()> {
            let _guard = guard;
            unreachable!("nobody waits for it")
        }));
    })
    .join()
    .unwrap();
    watched_turn(&mut core, || is_dropped(&guarded));
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn a_core_that_is_gone_is_reported() {
    let core = Core::new().unwrap();
    let (handle, remote) = (core.handle(), core.remote());
    let (guard, guarded): (Guard, _) = mpsc::channel();
    let running = on_handle(&handle, async move {
        let _guard = guard;
        std::future::pending::<()>().await
    });
    let queued = {
        let remote = remote.clone();
        thread::spawn(move || on_remote(&remote, |_| Ok::<_, ()>(1)))
            .join()
            .unwrap()
    };
    drop(core);
    let late = on_handle(&handle, async {});
    let later = on_remote_std(&remote, |_| async {});
    watched(move || {
        let runtime = runtime();
        assert!(matches!(runtime.block_on(running), Err(Lost::Gone)));
        assert!(matches!(runtime.block_on(queued), Err(Lost::Gone)));
        assert!(matches!(runtime.block_on(late), Err(Lost::Gone)));
        assert!(matches!(runtime.block_on(later), Err(Lost::Gone)));
    });
    assert!(is_dropped(&guarded));
}

#[test]
#[cfg_attr(miri, ignore = "a Core sleeps in the kernel")]
fn a_panic_reaches_the_awaiting_task_and_the_core_goes_on() {
    let mut core = Core::new().unwrap();
    let call = on_handle(&core.handle(), async { panic!("of a call") });
    let lost: Result<(), Lost> = core.run(As01::new(async_ok(call))).unwrap();
    let Err(Lost::Panicked(panic)) = lost else {
        panic!("no panic")
    };
    assert_eq!(
        panic.to_string(),
        "a task on the tokio-core Core panicked: of a call"
    );
    let resumed = catch_unwind(AssertUnwindSafe(|| panic.resume())).unwrap_err();
    assert_eq!(resumed.downcast_ref(), Some(&"of a call"));

    let call = on_handle(&core.handle(), async { 5 });
    assert_eq!(core.run(As01::new(call)).unwrap(), 5);
}

fn async_ok<F: Future>(future: F) -> Pin<Box<impl Future<Output = Result<F::Output, ()>>>> {
    Box::pin(async { Ok(future.await) })
}
