//! `ThreadPool` by itself, and `blocking`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use futures::future::{self, Future};
use futures::sync::oneshot;
use futures::Async;
use programs::within_a_minute;
use tokio_executor::Executor;
use tokio_threadpool::{blocking, Builder, ThreadPool};

const SOON: Duration = Duration::from_millis(20);

#[test]
fn a_spawn_handle_resolves_to_the_result() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        assert_eq!(pool.spawn_handle(future::ok::<_, ()>(7)).wait(), Ok(7));
        assert_eq!(pool.spawn_handle(future::err::<(), _>(7)).wait(), Err(7));
    });
}

#[test]
fn a_spawn_handle_that_is_dropped_ends_the_task() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        let (tx, rx) = oneshot::channel::<()>();
        let waits = future::empty::<(), ()>().map(move |()| drop(tx));
        drop(pool.spawn_handle(waits));
        assert!(rx.wait().is_err());
    });
}

#[test]
fn shutdown_waits_for_the_tasks_and_takes_no_more() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        let sender = pool.sender().clone();
        let (tx, rx) = oneshot::channel();
        let (ended, ends) = mpsc::channel();
        pool.spawn(rx.map_err(drop).map(move |()| ended.send(()).unwrap()));
        let shutdown = pool.shutdown();
        assert!(sender.spawn(future::ok(())).unwrap_err().is_shutdown());
        tx.send(()).unwrap();
        shutdown.wait().unwrap();
        assert_eq!(ends.try_recv(), Ok(()));
    });
}

#[test]
fn shutdown_on_idle_takes_tasks_until_there_is_none() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        let sender = pool.sender().clone();
        let (tx, rx) = oneshot::channel::<()>();
        pool.spawn(rx.map_err(drop));
        let shutdown = pool.shutdown_on_idle();
        let (ended, ends) = mpsc::channel();
        let task = future::lazy(move || ended.send(()).map_err(drop));
        sender.spawn(task).unwrap();
        tx.send(()).unwrap();
        shutdown.wait().unwrap();
        assert_eq!(ends.try_recv(), Ok(()));
        assert!(Executor::status(&&sender).unwrap_err().is_shutdown());
    });
}

#[test]
fn blocking_leaves_the_only_worker_to_the_other_tasks() {
    within_a_minute(|| {
        let pool = Builder::new().pool_size(1).build();
        let (tx, rx) = mpsc::channel();
        let waits = pool.spawn_handle(future::poll_fn(move || blocking(|| rx.recv().unwrap())));
        // Runs while the other waits for it.
        pool.spawn(future::lazy(move || tx.send(7).map_err(drop)));
        assert_eq!(waits.wait().unwrap(), 7);
    });
}

#[test]
fn no_more_tasks_block_than_the_pool_allows() {
    within_a_minute(|| {
        let pool = Builder::new().pool_size(4).max_blocking(2).build();
        let [now, most] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        for _ in 0..10 {
            let (now, most) = (now.clone(), most.clone());
            let mut block = move || {
                let count = now.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(count, Ordering::SeqCst);
                std::thread::sleep(SOON);
                now.fetch_sub(1, Ordering::SeqCst);
            };
            let task = future::poll_fn(move || blocking(&mut block));
            pool.spawn(task.map_err(|error| panic!("{error}")));
        }
        pool.shutdown_on_idle().wait().unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn blocking_code_may_enter_an_executor() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        let nested = || {
            tokio_executor::enter()
                .unwrap()
                .block_on(future::ok::<_, ()>(7))
        };
        assert!(pool
            .spawn_handle(future::lazy(|| tokio_executor::enter().map(drop)))
            .wait()
            .is_err());
        let task = future::poll_fn(move || blocking(nested));
        assert_eq!(pool.spawn_handle(task).wait().unwrap(), Ok(7));
    });
}

#[test]
fn blocking_fails_outside_of_a_pool() {
    assert!(blocking(|| ()).is_err());
}

#[test]
fn a_panic_in_blocking_gives_its_place_back() {
    within_a_minute(|| {
        let pool = Builder::new().pool_size(1).max_blocking(1).build();
        pool.spawn(future::poll_fn(|| {
            let blocked: Result<Async<()>, _> = blocking(|| panic!("while it blocks"));
            blocked.map_err(drop)
        }));
        let next = pool.spawn_handle(future::poll_fn(|| blocking(|| 7)));
        assert_eq!(next.wait().unwrap(), 7);
    });
}

#[test]
fn wake_ups_from_other_threads_reach_the_tasks() {
    within_a_minute(|| {
        let pool = Builder::new().pool_size(2).build();
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..1_000).map(|_| oneshot::channel::<usize>()).unzip();
        let tasks: Vec<_> = receivers
            .into_iter()
            .map(|receiver| pool.spawn_handle(receiver))
            .collect();
        let sends = std::thread::spawn(move || {
            for (number, sender) in senders.into_iter().enumerate() {
                sender.send(number).unwrap();
            }
        });
        let sum: usize = future::join_all(tasks).wait().unwrap().iter().sum();
        assert_eq!(sum, 999 * 500);
        sends.join().unwrap();
    });
}
