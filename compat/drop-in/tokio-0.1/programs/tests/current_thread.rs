//! `runtime::current_thread` and tokio-current-thread.

use std::cell::Cell;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Future};
use futures::sync::oneshot;
use futures::Stream;
use programs::within_a_minute;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::current_thread::{self, Runtime};
use tokio::timer::{Delay, Timeout};

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
