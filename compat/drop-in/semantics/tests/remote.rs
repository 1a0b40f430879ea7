//! `Remote`, from the Core's thread and others.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::Duration;

use futures::sync::{mpsc, oneshot};
use futures::{future, Future, Stream};
use semantics::{message, turn_until, watchdog, yields};
use tokio_core::reactor::{Core, Remote, Timeout};

#[test]
fn remote_spawns_from_another_thread_while_the_core_waits() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (remote, here) = (core.remote(), thread::current().id());
    let (sender, receiver) = oneshot::channel();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        remote.spawn(move |_| sender.send(thread::current().id()).map_err(drop));
    });
    assert_eq!(core.run(receiver).unwrap(), here);
    thread.join().unwrap();
}

#[test]
fn remote_gives_the_closure_a_handle_of_its_core() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (remote, id) = (core.remote(), core.id());
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        remote.spawn(move |handle| {
            assert_eq!(handle.id(), id);
            let timeout = Timeout::new(Duration::from_millis(5), handle).unwrap();
            // Of a task that is not Send.
            let kept = Rc::new(Cell::new(1));
            timeout.then(move |_| sender.send(kept.get()).map_err(drop))
        });
    })
    .join()
    .unwrap();
    assert_eq!(core.run(receiver).unwrap(), 1);
}

#[test]
fn remote_keeps_the_order_of_one_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let remote = core.remote();
    let (sender, receiver) = mpsc::unbounded();
    let thread = thread::spawn(move || {
        for n in 0..2000 {
            let sender = sender.clone();
            remote.spawn(move |_| sender.unbounded_send(n).map_err(drop));
        }
    });
    let order = core.run(receiver.collect()).unwrap();
    assert!(order.into_iter().eq(0..2000));
    thread.join().unwrap();
}

#[test]
fn remote_takes_spawns_of_many_threads() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = mpsc::unbounded();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (remote, sender) = (core.remote(), sender.clone());
            thread::spawn(move || {
                for _ in 0..500 {
                    let sender = sender.clone();
                    remote.spawn(move |_| sender.unbounded_send(()).map_err(drop));
                }
            })
        })
        .collect();
    drop(sender);
    assert_eq!(core.run(receiver.collect()).unwrap().len(), 4000);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn remote_keeps_what_is_spawned_before_the_first_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = oneshot::channel();
    core.remote().spawn(move |_| sender.send(()).map_err(drop));
    core.run(receiver).unwrap();
}

#[test]
fn remote_calls_the_closure_at_once_on_the_cores_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let remote = core.remote();
    core.run(future::lazy(move || {
        let (sender, called) = std_mpsc::channel();
        remote.spawn(move |_| {
            sender.send(()).unwrap();
            Ok(())
        });
        called.try_recv().unwrap();
        Ok::<_, ()>(())
    }))
    .unwrap();
}

#[test]
fn remote_calls_closures_that_wait_before_one_that_is_called_at_once() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let remote = core.remote();
    let (sender, order) = std_mpsc::channel();
    let first = sender.clone();
    remote.spawn(move |_| first.send("queued").map_err(drop));
    core.run(future::lazy(|| {
        remote.spawn(move |_| sender.send("at once").map_err(drop));
        assert_eq!(order.try_iter().collect::<Vec<_>>(), ["queued", "at once"]);
        Ok::<_, ()>(())
    }))
    .unwrap();
}

#[test]
fn remote_of_another_core_does_not_call_the_closure_at_once() {
    watchdog!();
    let (mut core, mut other) = (Core::new().unwrap(), Core::new().unwrap());
    let remote = other.remote();
    let (sender, called) = std_mpsc::channel();
    core.run(future::lazy(|| {
        remote.spawn(move |_| sender.send(()).map_err(drop));
        called.try_recv().unwrap_err();
        Ok::<_, ()>(())
    }))
    .unwrap();
    turn_until(&mut other, "the closure is called", || {
        called.try_recv().is_ok()
    });
}

#[test]
fn remote_of_a_dropped_core_drops_the_closure() {
    watchdog!();
    let core = Core::new().unwrap();
    let remote = core.remote();
    drop(core);
    let (sender, receiver) = oneshot::channel::<()>();
    remote.spawn(move |_| sender.send(()).map_err(drop));
    receiver.wait().unwrap_err();
}

#[test]
fn dropping_a_core_drops_closures_that_were_not_called() {
    watchdog!();
    let core = Core::new().unwrap();
    let (sender, receiver) = oneshot::channel::<()>();
    core.remote().spawn(move |_| sender.send(()).map_err(drop));
    drop(core);
    receiver.wait().unwrap_err();
}

#[test]
fn remote_gives_a_handle_within_its_core_alone() {
    watchdog!();
    let (mut core, mut other) = (Core::new().unwrap(), Core::new().unwrap());
    let remote = core.remote();
    // On the thread, but not within run.
    assert!(remote.handle().is_none());
    let id = core.id();
    core.run(future::lazy(|| {
        assert_eq!(remote.handle().unwrap().id(), id);
        let elsewhere = remote.clone();
        thread::spawn(move || assert!(elsewhere.handle().is_none()))
            .join()
            .unwrap();
        Ok::<_, ()>(())
    }))
    .unwrap();
    other
        .run(future::lazy(|| {
            assert!(remote.handle().is_none());
            Ok::<_, ()>(())
        }))
        .unwrap();
    let seen = Rc::new(RefCell::new(None));
    let (sees, asks) = (seen.clone(), remote.clone());
    core.handle().spawn_fn(move || {
        *sees.borrow_mut() = asks.handle().map(|handle| handle.id());
        Ok(())
    });
    core.run(yields(3)).unwrap();
    assert_eq!(*seen.borrow(), Some(id));
    assert!(remote.handle().is_none());
}

#[test]
fn a_handle_from_a_remote_spawns() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let remote = core.remote();
    let (sender, receiver) = oneshot::channel();
    core.run(future::lazy(move || {
        remote
            .handle()
            .unwrap()
            .spawn_fn(move || sender.send(()).map_err(drop));
        receiver
    }))
    .unwrap();
}

#[test]
fn a_panic_of_a_remotes_closure_unwinds_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    core.remote()
        .spawn(|_| -> Result<(), ()> { panic!("of the closure") });
    let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
    assert_eq!(message(catch_unwind(run).unwrap_err()), "of the closure");
    core.run(yields(3)).unwrap();
}

#[test]
fn a_closure_that_is_dropped_with_its_core_may_spawn() {
    watchdog!();
    struct Spawns(Remote);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.0.spawn(|_| Ok(()));
        }
    }
    let core = Core::new().unwrap();
    let captured = Spawns(core.remote());
    core.remote().spawn(move |_| {
        drop(captured);
        Ok(())
    });
    drop(core);
}

#[test]
fn a_remote_is_shared_between_threads() {
    watchdog!();
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let core = Core::new().unwrap();
    shared::<Remote>(&core.remote());
    shared(&core.id());
}

#[test]
fn cores_on_two_threads_talk() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sends, remotes) = std_mpsc::channel();
    let thread = thread::spawn(move || {
        let mut core = Core::new().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        sends.send((core.remote(), stop)).unwrap();
        core.run(stopped).unwrap();
    });
    let (theirs, stop) = remotes.recv().unwrap();
    let ours = core.remote();
    let (sender, receiver) = oneshot::channel();
    theirs.spawn(move |_| {
        ours.spawn(move |_| sender.send(5).map_err(drop));
        Ok(())
    });
    assert_eq!(core.run(receiver).unwrap(), 5);
    stop.send(()).unwrap();
    thread.join().unwrap();
}
