//! `tokio::run`, `Runtime`, and the sockets and timers of their tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Future};
use futures::sync::oneshot;
use futures::Stream;
use programs::within_a_minute;
use tokio::io;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::timer::Delay;

const SOON: Duration = Duration::from_millis(20);

/// Counts how often its clones are dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

struct Counted(Drops);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0 .0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drops {
    /// A future that never ends, and counts its drop.
    fn forever(&self) -> impl Future<Item = (), Error = ()> + Send {
        let counted = Counted(self.clone());
        future::empty().map(move |()| drop(counted))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn after(delay: Duration) -> impl Future<Item = (), Error = ()> + Send {
    Delay::new(Instant::now() + delay).map_err(|error| panic!("{error}"))
}

#[test]
fn run_returns_once_all_tasks_have_ended() {
    within_a_minute(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        tokio::run(future::lazy(move || {
            for at in 1..=10 {
                let count = count.clone();
                tokio::spawn(after(at * SOON / 10).and_then(move |()| {
                    tokio::spawn(after(SOON).map(move |()| {
                        count.fetch_add(1, Ordering::SeqCst);
                    }));
                    Ok(())
                }));
            }
            Ok(())
        }));
        assert_eq!(ended.load(Ordering::SeqCst), 10);
    });
}

#[test]
fn run_in_a_task_is_refused() {
    within_a_minute(|| {
        let mut runtime = Runtime::new().unwrap();
        let run = future::lazy(|| {
            tokio::run(future::ok(()));
            Ok::<_, ()>(())
        });
        // The panic drops the task, and with it what block_on waits for.
        let blocks = thread::spawn(move || runtime.block_on(run)).join();
        assert!(blocks.is_err());
    });
}

#[test]
fn sockets_of_a_task_serve_and_connect() {
    within_a_minute(|| {
        let mut runtime = Runtime::new().unwrap();
        let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(
            listener
                .incoming()
                .for_each(|stream| {
                    let (read, write) = io::AsyncRead::split(stream);
                    tokio::spawn(io::copy(read, write).map(drop).map_err(|e| panic!("{e}")));
                    Ok(())
                })
                .map_err(|error| panic!("{error}")),
        );
        let echo = move |byte: u8| {
            TcpStream::connect(&address)
                .and_then(move |stream| io::write_all(stream, vec![byte; 100_000]))
                .and_then(|(stream, sent)| io::read_exact(stream, vec![0; sent.len()]))
                .map(move |(_, back)| back.iter().all(|&got| got == byte))
        };
        let all = future::join_all((0..20).map(echo));
        assert_eq!(runtime.block_on(all).unwrap(), [true; 20]);
        runtime.shutdown_now().wait().unwrap();
    });
}

#[test]
fn block_on_returns_the_result_and_leaves_the_tasks() {
    within_a_minute(|| {
        let mut runtime = Runtime::new().unwrap();
        let (tx, rx) = oneshot::channel();
        runtime.spawn(after(SOON).and_then(|()| tx.send(7).map_err(drop)));
        assert_eq!(runtime.block_on(future::err::<(), _>("no")), Err("no"));
        assert_eq!(runtime.block_on(rx), Ok(7));
    });
}

#[test]
fn block_on_all_waits_for_the_tasks() {
    within_a_minute(|| {
        let (tx, rx) = mpsc::channel();
        let main = future::lazy(move || {
            tokio::spawn(after(SOON).map(move |()| tx.send(()).unwrap()));
            Ok::<_, ()>("main")
        });
        assert_eq!(Runtime::new().unwrap().block_on_all(main), Ok("main"));
        assert_eq!(rx.try_recv(), Ok(()));
    });
}

#[test]
fn a_runtime_that_is_dropped_drops_its_tasks_first() {
    within_a_minute(|| {
        let drops = Drops::default();
        let mut runtime = Runtime::new().unwrap();
        for _ in 0..10 {
            runtime.spawn(drops.forever());
        }
        drop(runtime);
        assert_eq!(drops.count(), 10);
    });
}

#[test]
fn shutdown_now_drops_the_tasks() {
    within_a_minute(|| {
        let drops = Drops::default();
        let mut runtime = Runtime::new().unwrap();
        runtime.spawn(drops.forever());
        let executor = runtime.executor();
        runtime.shutdown_now().wait().unwrap();
        assert_eq!(drops.count(), 1);
        // What is spawned now is refused, and dropped.
        let late = future::Executor::execute(&executor, drops.forever());
        assert!(late.is_err());
        drop(late);
        assert_eq!(drops.count(), 2);
    });
}

#[test]
fn an_executor_spawns_from_any_thread() {
    within_a_minute(|| {
        let runtime = Runtime::new().unwrap();
        let executor = runtime.executor();
        let (tx, rx) = mpsc::channel();
        thread::spawn(move || executor.spawn(after(SOON).map(move |()| tx.send(()).unwrap())))
            .join()
            .unwrap();
        runtime.shutdown_on_idle().wait().unwrap();
        assert_eq!(rx.try_recv(), Ok(()));
    });
}

#[test]
fn a_panic_of_a_task_is_handled_and_leaves_the_runtime() {
    within_a_minute(|| {
        let (tx, rx) = mpsc::channel();
        let tx = std::sync::Mutex::new(tx);
        let mut runtime = Builder::new()
            .core_threads(1)
            .panic_handler(move |panic| {
                let panic = panic.downcast::<&str>().unwrap();
                tx.lock().unwrap().send(*panic).unwrap();
            })
            .build()
            .unwrap();
        runtime.spawn(future::lazy(|| -> Result<(), ()> { panic!("in a task") }));
        assert_eq!(rx.recv(), Ok("in a task"));
        assert_eq!(runtime.block_on(future::ok::<_, ()>(7)), Ok(7));
    });
}

#[test]
fn the_builder_names_the_threads_and_calls_at_their_start_and_end() {
    within_a_minute(|| {
        let [started, stopped] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (starts, stops) = (started.clone(), stopped.clone());
        let mut runtime = Builder::new()
            .core_threads(2)
            .name_prefix("worker-")
            .after_start(move || _ = starts.fetch_add(1, Ordering::SeqCst))
            .before_stop(move || _ = stops.fetch_add(1, Ordering::SeqCst))
            .build()
            .unwrap();
        let name = future::lazy(|| Ok::<_, ()>(thread::current().name().map(String::from)));
        let name = runtime.block_on(name).unwrap().unwrap();
        assert!(name.starts_with("worker-"), "{name}");
        runtime.shutdown_on_idle().wait().unwrap();
        let started = started.load(Ordering::SeqCst);
        assert!((1..=2).contains(&started), "{started}");
        assert_eq!(stopped.load(Ordering::SeqCst), started);
    });
}

#[test]
fn tasks_on_two_threads_run_at_the_same_time() {
    within_a_minute(|| {
        let mut runtime = Builder::new().core_threads(2).build().unwrap();
        let (to_first, first) = mpsc::channel();
        let (to_second, second) = mpsc::channel();
        runtime.spawn(future::lazy(move || {
            to_second.send(()).unwrap();
            first.recv().map_err(drop)
        }));
        runtime.spawn(future::lazy(move || {
            to_first.send(()).unwrap();
            second.recv().map_err(drop)
        }));
        runtime.shutdown_on_idle().wait().unwrap();
    });
}
