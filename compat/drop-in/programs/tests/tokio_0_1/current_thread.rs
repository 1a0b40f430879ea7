//! `runtime::current_thread` and tokio-current-thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Future};
use futures::sync::oneshot;
use futures::Stream;
use futures::{task, Async};
use programs::within_a_minute;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::current_thread::{self, Runtime};
use tokio::timer::{Delay, Timeout};
use tokio_current_thread::{CurrentThread, TaskExecutor};

const SOON: Duration = Duration::from_millis(20);

#[test]
fn tasks_need_not_be_send() {
    within_a_minute(|| {
        let count = Rc::new(Cell::new(0));
        let mut runtime = Runtime::new().unwrap();
        for _ in 0..10 {
            let count = count.clone();
            runtime.spawn(future::lazy(move || {
                current_thread::spawn(
                    Delay::new(Instant::now() + SOON)
                        .map(move |()| count.set(count.get() + 1))
                        .map_err(|error| panic!("{error}")),
                );
                Ok(())
            }));
        }
        runtime.run().unwrap();
        assert_eq!(count.get(), 10);
    });
}

#[test]
fn a_handle_spawns_from_another_thread() {
    within_a_minute(|| {
        let mut runtime = Runtime::new().unwrap();
        let handle = runtime.handle();
        let (tx, rx) = oneshot::channel();
        let spawns = thread::spawn(move || {
            thread::sleep(SOON);
            let send = future::lazy(move || tx.send(thread::current().id()).map_err(drop));
            handle.spawn(send).unwrap();
        });
        assert_eq!(runtime.block_on(rx), Ok(thread::current().id()));
        spawns.join().unwrap();
    });
}

#[test]
fn sockets_and_timers_work_side_by_side() {
    within_a_minute(|| {
        let mut runtime = Runtime::new().unwrap();
        let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let silent = listener.incoming().take(1).collect();
        let connect = TcpStream::connect(&address);
        let (accepted, stream) = runtime.block_on(silent.join(connect)).unwrap();
        let read = tokio::io::read(stream, [0; 1]);
        let late = runtime.block_on(Timeout::new(read, SOON)).map(drop);
        assert!(late.unwrap_err().is_elapsed());
        drop(accepted);
    });
}

#[test]
fn tokio_spawn_takes_the_task() {
    within_a_minute(|| {
        let (tx, rx) = oneshot::channel();
        current_thread::block_on_all(future::lazy(move || {
            tokio::spawn(future::lazy(move || {
                tx.send(thread::current().id()).map_err(drop)
            }));
            Ok::<_, ()>(())
        }))
        .unwrap();
        assert_eq!(rx.wait(), Ok(thread::current().id()));
    });
}

#[test]
fn a_runtime_in_a_runtime_is_refused() {
    within_a_minute(|| {
        let nested = future::lazy(|| current_thread::block_on_all(future::ok::<_, ()>(())));
        let nested = thread::spawn(move || current_thread::block_on_all(nested)).join();
        assert!(nested.is_err());
    });
}

#[test]
fn the_executor_runs_without_a_reactor() {
    within_a_minute(|| {
        let (tx, rx) = oneshot::channel();
        let sends = thread::spawn(move || {
            thread::sleep(SOON);
            tx.send(7).unwrap();
        });
        assert_eq!(tokio_current_thread::block_on_all(rx), Ok(7));
        sends.join().unwrap();
    });
}

type Log = Rc<RefCell<Vec<&'static str>>>;

/// Logs its name, and notifies itself, three times.
fn thrice(name: &'static str, log: &Log) -> impl Future<Item = (), Error = ()> {
    let log = log.clone();
    let mut left = 3;
    future::poll_fn(move || {
        log.borrow_mut().push(name);
        left -= 1;
        if left == 0 {
            return Ok(Async::Ready(()));
        }
        task::current().notify();
        task::current().notify();
        Ok(Async::NotReady)
    })
}

#[test]
fn a_turn_polls_what_was_ready_in_the_order_of_spawns_and_wake_ups() {
    let log = Log::default();
    let mut executor = CurrentThread::new();
    assert!(executor.is_idle());
    executor.spawn(thrice("first", &log));
    let inner = thrice("inner", &log);
    executor.spawn(future::lazy(|| {
        tokio_current_thread::spawn(inner);
        Ok(())
    }));
    executor.spawn(thrice("second", &log));
    let mut turns = Vec::new();
    while !executor.is_idle() {
        assert!(executor.turn(None).unwrap().has_polled());
        turns.push(log.take());
    }
    assert_eq!(turns[0], ["first", "second"]);
    assert_eq!(turns[1], ["first", "inner", "second"]);
    assert_eq!(turns[2], ["first", "inner", "second"]);
    assert_eq!(turns[3], ["inner"]);
    assert_eq!(turns.len(), 4);
    let turn = executor.turn(Some(Duration::ZERO)).unwrap();
    assert!(!turn.has_polled());
}

#[test]
fn run_timeout_ends_with_the_tasks_or_the_time() {
    within_a_minute(|| {
        let mut executor = CurrentThread::new();
        executor.run_timeout(SOON).unwrap();
        let (tx, rx) = oneshot::channel::<()>();
        executor.spawn(rx.map_err(drop));
        let start = Instant::now();
        assert!(executor.run_timeout(SOON).unwrap_err().is_timeout());
        assert!(start.elapsed() >= SOON);
        tx.send(()).unwrap();
        executor.run_timeout(1000 * SOON).unwrap();
        assert!(start.elapsed() < 500 * SOON);
    });
}

#[test]
fn an_executor_that_is_dropped_drops_its_tasks_and_refuses_more() {
    let mut executor = CurrentThread::new();
    let handle = executor.handle();
    let held = Rc::new(());
    let task = held.clone();
    executor.spawn(future::empty().map(move |()| drop(task)));
    executor.turn(Some(Duration::ZERO)).unwrap();
    let (tx, rx) = oneshot::channel::<()>();
    let waits = future::empty().map(move |()| drop(tx));
    handle.spawn(waits).unwrap();
    drop(executor);
    assert_eq!(Rc::strong_count(&held), 1);
    assert!(rx.wait().is_err());
    assert!(handle.spawn(future::ok(())).unwrap_err().is_shutdown());
    assert!(handle.status().unwrap_err().is_shutdown());
}

#[test]
fn a_panic_of_a_task_leaves_the_executor_to_the_others() {
    within_a_minute(|| {
        let mut executor = CurrentThread::new();
        executor.spawn(future::lazy(|| -> Result<(), ()> { panic!("in a task") }));
        let (tx, rx) = oneshot::channel();
        executor.spawn(future::lazy(|| tx.send(7).map_err(drop)));
        let turn = std::panic::AssertUnwindSafe(|| executor.turn(None));
        assert!(std::panic::catch_unwind(turn).is_err());
        assert_eq!(executor.block_on(rx).unwrap(), 7);
    });
}

#[test]
fn a_task_that_ends_may_spawn_as_it_is_dropped() {
    struct Spawns(Rc<Cell<bool>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let ran = self.0.clone();
            let task = future::lazy(move || {
                ran.set(true);
                Ok(())
            });
            TaskExecutor::current().spawn_local(Box::new(task)).unwrap();
        }
    }
    within_a_minute(|| {
        let ran = Rc::new(Cell::new(false));
        let spawns = Spawns(ran.clone());
        let mut executor = CurrentThread::new();
        executor.spawn(future::poll_fn(move || {
            let _kept = &spawns;
            Ok(Async::Ready(()))
        }));
        executor.run().unwrap();
        assert!(ran.get());
    });
}

#[test]
fn a_wake_up_after_the_end_of_its_task_wakes_no_other() {
    let mut executor = CurrentThread::new();
    let ended: Rc<RefCell<Option<task::Task>>> = Rc::default();
    let keep = ended.clone();
    executor.spawn(future::lazy(move || {
        keep.replace(Some(task::current()));
        Ok(())
    }));
    executor.turn(None).unwrap();
    let polls = Rc::new(Cell::new(0));
    let count = polls.clone();
    executor.spawn(future::poll_fn(move || {
        count.set(count.get() + 1);
        Ok(Async::NotReady)
    }));
    executor.turn(None).unwrap();
    ended.take().unwrap().notify();
    executor.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(polls.get(), 1);
}

#[test]
fn wake_ups_from_other_threads_reach_the_tasks() {
    within_a_minute(|| {
        let mut executor = CurrentThread::new();
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..1_000).map(|_| oneshot::channel::<()>()).unzip();
        for receiver in receivers {
            executor.spawn(receiver.map_err(drop));
        }
        let sends = thread::spawn(move || {
            for sender in senders {
                sender.send(()).unwrap();
            }
        });
        executor.run().unwrap();
        sends.join().unwrap();
    });
}
