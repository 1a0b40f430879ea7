//! Tasks: spawning, order, fairness.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::future::Executor;
use futures::sync::{mpsc, oneshot};
use futures::{future, task, Async, Future, Stream};
use semantics::{connected, turn_for, turn_until, watchdog, yields, DropFlag};
use tokio_core::reactor::{Core, Interval, Timeout};
use tokio_io::io::{copy, read_exact, write_all};
use tokio_io::AsyncRead;

const MS: Duration = Duration::from_millis(1);

/// A list that tasks add to.
type Order<T> = Rc<RefCell<Vec<T>>>;

/// A future that adds `value` to `order`.
fn adds<T: 'static>(order: &Order<T>, value: T) -> impl Future<Item = (), Error = ()> {
    let order = order.clone();
    future::lazy(move || {
        order.borrow_mut().push(value);
        Ok(())
    })
}

#[test]
fn tasks_are_first_polled_in_the_order_of_spawning() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Order::default();
    for n in 0..3000 {
        core.handle().spawn(adds(&order, n));
    }
    turn_until(&mut core, "all ran", || order.borrow().len() == 3000);
    assert!(order.borrow().iter().copied().eq(0..3000));
}

#[test]
fn a_task_that_a_task_spawns_runs_after_those_before_it() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Order::default();
    let (handle, inner) = (core.handle(), order.clone());
    core.handle()
        .spawn(adds(&order, "first").map(move |()| handle.spawn(adds(&inner, "child"))));
    core.handle().spawn(adds(&order, "second"));
    turn_until(&mut core, "all ran", || order.borrow().len() == 3);
    assert_eq!(*order.borrow(), ["first", "second", "child"]);
}

#[test]
fn a_task_is_not_polled_within_spawn() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order: Order<&str> = Order::default();
    let (handle, inner) = (core.handle(), order.clone());
    core.run(future::lazy(move || {
        handle.spawn(adds(&inner, "task"));
        inner.borrow_mut().push("run");
        Ok::<_, ()>(())
    }))
    .unwrap();
    turn_until(&mut core, "all ran", || order.borrow().len() == 2);
    assert_eq!(*order.borrow(), ["run", "task"]);
}

#[test]
fn spawn_fn_calls_its_function_in_the_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let called = Rc::new(Cell::new(false));
    let sets = called.clone();
    core.handle().spawn_fn(move || {
        task::current();
        sets.set(true);
        Err(())
    });
    assert!(!called.get());
    turn_until(&mut core, "it is called", || called.get());
}

#[test]
fn tasks_are_polled_in_the_order_of_notifications() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Order::default();
    let mut senders = Vec::new();
    for n in 0..5 {
        let (sender, receiver) = oneshot::channel::<()>();
        let then = adds(&order, n);
        core.handle().spawn(receiver.then(|_| then));
        senders.push(Some(sender));
    }
    core.run(yields(3)).unwrap();
    for n in [2, 4, 0, 3, 1] {
        senders[n].take().unwrap().send(()).unwrap();
    }
    turn_until(&mut core, "all ran", || order.borrow().len() == 5);
    assert_eq!(*order.borrow(), [2, 4, 0, 3, 1]);
}

#[test]
fn many_notifications_give_one_poll() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let polls = Rc::new(Cell::new(0));
    let task = Rc::new(RefCell::new(None));
    let (counts, keeps) = (polls.clone(), task.clone());
    core.handle().spawn(future::poll_fn(move || {
        counts.set(counts.get() + 1);
        *keeps.borrow_mut() = Some(task::current());
        Ok(Async::NotReady)
    }));
    turn_until(&mut core, "the task is polled", || polls.get() == 1);
    for _ in 0..100 {
        task.borrow().as_ref().unwrap().notify();
    }
    turn_for(&mut core, 10 * MS);
    assert_eq!(polls.get(), 2);
}

#[test]
fn a_notification_during_a_poll_gives_another() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let polls = Rc::new(Cell::new(0));
    let counts = polls.clone();
    core.handle().spawn(future::poll_fn(move || {
        counts.set(counts.get() + 1);
        if counts.get() == 3 {
            return Ok(Async::Ready(()));
        }
        task::current().notify();
        Ok(Async::NotReady)
    }));
    turn_for(&mut core, 10 * MS);
    assert_eq!(polls.get(), 3);
}

#[test]
fn a_finished_task_is_dropped_before_the_next_is_polled() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (flag, dropped) = DropFlag::new();
    let mut polled = false;
    core.handle().spawn(future::poll_fn(move || {
        let _ = &flag;
        // As itself, not by what it captures.
        assert!(!std::mem::replace(&mut polled, true));
        Ok(Async::Ready(()))
    }));
    let seen = Rc::new(Cell::new(None));
    let sees = seen.clone();
    core.handle().spawn_fn(move || {
        sees.set(Some(dropped.get()));
        Ok(())
    });
    turn_until(&mut core, "both ran", || seen.get().is_some());
    assert_eq!(seen.get(), Some(true));
}

#[test]
fn a_notification_of_a_finished_task_is_ignored() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let task = Rc::new(RefCell::new(None));
    let keeps = task.clone();
    core.handle().spawn_fn(move || {
        *keeps.borrow_mut() = Some(task::current());
        Ok(())
    });
    turn_until(&mut core, "the task ran", || task.borrow().is_some());
    // Its place is taken by another, which is not to be polled for it.
    let polls = Rc::new(Cell::new(0));
    let counts = polls.clone();
    core.handle().spawn(future::poll_fn(move || {
        counts.set(counts.get() + 1);
        Ok(Async::NotReady)
    }));
    turn_until(&mut core, "the next ran", || polls.get() == 1);
    task.borrow().as_ref().unwrap().notify();
    turn_for(&mut core, 10 * MS);
    assert_eq!(polls.get(), 1);
}

#[test]
fn a_timer_fires_beside_a_task_that_is_always_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    handle.spawn(yields(usize::MAX));
    core.run(Timeout::new(20 * MS, &handle).unwrap()).unwrap();
    core.run(Interval::new(2 * MS, &handle).unwrap().take(5).collect())
        .unwrap();
}

#[test]
fn a_socket_is_served_beside_a_task_that_is_always_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    core.handle().spawn(yields(usize::MAX));
    let thread = thread::spawn(move || {
        for _ in 0..20 {
            peer.write_all(b"ping").unwrap();
            peer.read_exact(&mut [0; 4]).unwrap();
        }
    });
    let pings = future::loop_fn((stream, 0), |(stream, n)| {
        read_exact(stream, [0; 4])
            .and_then(|(stream, buf)| write_all(stream, buf))
            .map(move |(stream, _)| match n {
                19 => future::Loop::Break(()),
                _ => future::Loop::Continue((stream, n + 1)),
            })
    });
    core.run(pings).unwrap();
    thread.join().unwrap();
}

#[test]
fn tasks_run_beside_a_future_of_run_that_is_always_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let done = Rc::new(Cell::new(false));
    let sets = done.clone();
    let timeout = Timeout::new(10 * MS, &handle).unwrap();
    handle.spawn(
        yields(10)
            .join(timeout.map_err(drop))
            .map(move |_| sets.set(true)),
    );
    core.run(future::poll_fn(|| {
        if done.get() {
            return Ok::<_, ()>(Async::Ready(()));
        }
        task::current().notify();
        Ok(Async::NotReady)
    }))
    .unwrap();
}

#[test]
fn a_timer_fires_beside_a_bulk_connection() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let mut sends = peer.try_clone().unwrap();
    let sender = thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            sends.write_all(&[0; 1 << 16]).unwrap();
            // The task has no end of its turn but a socket without data.
            thread::sleep(MS);
        }
        sends.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let reader = thread::spawn(move || std::io::copy(&mut peer, &mut std::io::sink()).unwrap());
    let (reads, writes) = stream.split();
    let handle = core.handle();
    handle.spawn(
        copy(reads, writes)
            .map(drop)
            .map_err(|error| panic!("{error}")),
    );
    core.run(Interval::new(5 * MS, &handle).unwrap().take(10).collect())
        .unwrap();
    stop.store(true, Ordering::SeqCst);
    turn_until(&mut core, "the echo ends", || reader.is_finished());
    sender.join().unwrap();
    reader.join().unwrap();
}

#[test]
fn ten_thousand_ready_tasks_take_turns() {
    watchdog!();
    const TASKS: usize = 10_000;
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let polled = Rc::new(RefCell::new(vec![0_usize; TASKS]));
    let ended = Rc::new(Cell::new(0));
    for n in 0..TASKS {
        let (polled, ended) = (polled.clone(), ended.clone());
        handle.spawn(future::poll_fn(move || {
            polled.borrow_mut()[n] += 1;
            if polled.borrow()[n] < 10 {
                task::current().notify();
                return Ok(Async::NotReady);
            }
            if ended.get() == 0 {
                // None has ended before each had its turn.
                assert!(polled.borrow().iter().all(|&polls| polls > 0));
            }
            ended.set(ended.get() + 1);
            Ok(Async::Ready(()))
        }));
    }
    turn_until(&mut core, "all end", || ended.get() == TASKS);
    assert!(polled.borrow().iter().all(|&polls| polls == 10));
}

#[test]
fn a_task_is_woken_from_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = mpsc::unbounded();
    let thread = thread::spawn(move || {
        for n in 0..10_000_u32 {
            sender.unbounded_send(n).unwrap();
        }
    });
    let (done, waits) = oneshot::channel();
    let sum = receiver.fold(0, |sum, n| Ok(sum + u64::from(n)));
    core.handle()
        .spawn(sum.and_then(move |sum| done.send(sum).map_err(drop)));
    assert_eq!(core.run(waits).unwrap(), 49_995_000);
    thread.join().unwrap();
}

#[test]
fn executors_spawn() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Order::default();
    core.execute(adds(&order, 1)).unwrap();
    core.handle().execute(adds(&order, 2)).unwrap();
    let (sender, receiver) = oneshot::channel();
    core.remote()
        .execute(future::lazy(move || sender.send(3).map_err(drop)))
        .unwrap();
    assert_eq!(core.run(receiver).unwrap(), 3);
    assert_eq!(*order.borrow(), [1, 2]);
}

#[test]
fn executors_of_a_dropped_core_drop_the_future() {
    watchdog!();
    let core = Core::new().unwrap();
    let (handle, remote) = (core.handle(), core.remote());
    drop(core);
    let (flag, dropped) = DropFlag::new();
    handle
        .execute(future::lazy(move || {
            drop(flag);
            Ok(())
        }))
        .unwrap();
    assert!(dropped.get());
    let (sender, receiver) = oneshot::channel::<()>();
    remote
        .execute(future::lazy(move || sender.send(()).map_err(drop)))
        .unwrap();
    receiver.wait().unwrap_err();
}

#[test]
fn tasks_that_are_not_send_share_with_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let sum = Rc::new(Cell::new(0));
    for n in 1..=10 {
        let sum = sum.clone();
        core.handle()
            .spawn(yields(n).map(move |()| sum.set(sum.get() + n)));
    }
    turn_until(&mut core, "all end", || sum.get() == 55);
    assert_eq!(Rc::strong_count(&sum), 1);
}

#[test]
fn a_drop_of_a_task_may_spawn() {
    watchdog!();
    struct Spawns(tokio_core::reactor::Handle, Rc<Cell<bool>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let flag = self.1.clone();
            self.0.spawn_fn(move || {
                flag.set(true);
                Ok(())
            });
        }
    }
    let mut core = Core::new().unwrap();
    let ran = Rc::new(Cell::new(false));
    let spawns = Spawns(core.handle(), ran.clone());
    core.handle().spawn(future::poll_fn(move || {
        let _ = &spawns;
        Ok(Async::Ready(()))
    }));
    turn_until(&mut core, "the second task runs", || ran.get());
}

#[test]
fn a_chain_of_ten_thousand_tasks() {
    watchdog!();
    fn next(handle: tokio_core::reactor::Handle, left: u32, done: oneshot::Sender<()>) {
        handle.clone().spawn_fn(move || {
            if left == 0 {
                return done.send(());
            }
            next(handle, left - 1, done);
            Ok(())
        });
    }
    let mut core = Core::new().unwrap();
    let (done, waits) = oneshot::channel();
    next(core.handle(), 10_000, done);
    core.run(waits).unwrap();
}
