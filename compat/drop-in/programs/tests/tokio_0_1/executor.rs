//! tokio-executor: the default executor of a thread, `enter`, `park`.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Future};
use futures::sync::oneshot;
use programs::within_a_minute;
use tokio_executor::park::{Park, ParkThread, Unpark};
use tokio_executor::{
    enter, set_default, with_default, DefaultExecutor, Executor, SpawnError, TypedExecutor,
};

type Boxed = Box<dyn Future<Item = (), Error = ()> + Send>;

/// Sends on each task.
struct Sends(mpsc::Sender<Boxed>);

impl Executor for Sends {
    fn spawn(&mut self, future: Boxed) -> Result<(), SpawnError> {
        self.0.send(future).map_err(|_| SpawnError::shutdown())
    }

    fn status(&self) -> Result<(), SpawnError> {
        // Within a call of it the thread's executor can't be called.
        assert!(DefaultExecutor::current().status_of_executor().is_err());
        Err(SpawnError::at_capacity())
    }
}

trait StatusOfExecutor {
    fn status_of_executor(&self) -> Result<(), SpawnError>;
}

impl StatusOfExecutor for DefaultExecutor {
    fn status_of_executor(&self) -> Result<(), SpawnError> {
        Executor::status(self)
    }
}

#[test]
fn with_default_sets_the_executor_while_the_call_lasts() {
    let (tx, rx) = mpsc::channel();
    let mut enter = enter().unwrap();
    with_default(&mut Sends(tx), &mut enter, |_| {
        tokio_executor::spawn(future::ok(()));
        TypedExecutor::spawn(&mut DefaultExecutor::current(), future::ok(())).unwrap();
        let status = DefaultExecutor::current().status_of_executor();
        assert!(status.unwrap_err().is_at_capacity());
    });
    assert_eq!(rx.iter().count(), 2);
    let status = DefaultExecutor::current().status_of_executor();
    assert!(status.unwrap_err().is_shutdown());
}

#[test]
fn set_default_sets_the_executor_until_the_guard_is_dropped() {
    let (tx, rx) = mpsc::channel();
    let guard = set_default(Sends(tx));
    tokio_executor::spawn(future::ok(()));
    drop(guard);
    assert_eq!(rx.iter().count(), 1);
}

#[test]
fn a_second_executor_is_refused() {
    let twice = thread::spawn(|| {
        let _first = set_default(Sends(mpsc::channel().0));
        let _second = set_default(Sends(mpsc::channel().0));
    });
    assert!(twice.join().is_err());
}

#[test]
fn a_thread_without_an_executor_refuses_tasks() {
    assert!(thread::spawn(|| tokio_executor::spawn(future::ok(())))
        .join()
        .is_err());
    let execute = future::Executor::execute(&DefaultExecutor::current(), future::ok(()));
    assert_eq!(
        execute.unwrap_err().kind(),
        future::ExecuteErrorKind::Shutdown
    );
}

#[test]
fn a_thread_is_entered_once_until_it_is_left() {
    let (tx, rx) = mpsc::channel();
    let mut first = enter().unwrap();
    first.on_exit(move || tx.send(()).unwrap());
    assert!(enter().is_err());
    assert!(rx.try_recv().is_err());
    drop(first);
    assert_eq!(rx.try_recv(), Ok(()));
    assert!(enter().is_ok());
}

#[test]
fn an_entered_thread_blocks_on_a_future() {
    within_a_minute(|| {
        let (tx, rx) = oneshot::channel();
        let sends = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            tx.send(7).unwrap();
        });
        assert_eq!(enter().unwrap().block_on(rx), Ok(7));
        sends.join().unwrap();
    });
}

#[test]
fn unpark_ends_the_wait_or_the_next_one() {
    within_a_minute(|| {
        let mut park = ParkThread::new();
        let unpark = park.unpark();
        unpark.unpark();
        park.park().unwrap();
        let wakes = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            unpark.unpark();
        });
        park.park().unwrap();
        wakes.join().unwrap();
        let start = Instant::now();
        park.park_timeout(Duration::from_millis(20)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(15));
    });
}
