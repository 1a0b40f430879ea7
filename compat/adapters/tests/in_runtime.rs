//! A runtime for the length of a poll, on threads that are in none.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::future::{self, Executor};
use futures01::{Async, Future as _, Stream as _};
use futures_cpupool::CpuPool;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_core_compat::task::{As01, AsStd, InRuntime};
use tokio_core_compat::time::{Current, Timeout};

use crate::common::{watched, Bell};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

const SOON: Duration = Duration::from_millis(1);

/// Makes its timer when it is polled.
async fn sleep() -> Result<&'static str, ()> {
    tokio::time::sleep(SOON).await;
    Ok("slept")
}

#[test]
fn a_future_finds_the_runtime_on_any_thread() {
    watched(|| {
        let runtime = runtime();
        let old = InRuntime::new(As01::pin(sleep()), runtime.handle().clone());
        assert_eq!(old.wait(), Ok("slept"));
        let lazy = future::lazy(|| Timeout::new(SOON, &Current).unwrap());
        InRuntime::new(lazy, runtime.handle().clone())
            .wait()
            .unwrap();
        // Polled by another runtime, which has no clock.
        let new = InRuntime::new(Box::pin(sleep()), runtime.handle().clone());
        let other = Builder::new_current_thread().build().unwrap();
        assert_eq!(other.block_on(new), Ok("slept"));
    });
}

#[test]
fn so_does_a_stream() {
    watched(|| {
        let runtime = runtime();
        let looks = || {
            futures01::stream::poll_fn(|| {
                let found = Handle::try_current().is_ok();
                Ok::<_, ()>(Async::Ready(Some(found)))
            })
        };
        let old = InRuntime::new(looks(), runtime.handle().clone());
        assert_eq!(old.wait().next(), Some(Ok(true)));
        let mut new = InRuntime::new(AsStd::new(looks()), runtime.handle().clone());
        let polled = Bell::new().poll_next(&mut new);
        assert_eq!(polled, std::task::Poll::Ready(Some(Ok(true))));
        assert!(Handle::try_current().is_err(), "and leaves it again");
    });
}

#[test]
fn so_does_all_that_an_executor_spawns() {
    watched(|| {
        let runtime = runtime();
        let executor = InRuntime::new(CpuPool::new(1), runtime.handle().clone());
        let (tx, rx) = mpsc::channel();
        let task = As01::pin(sleep()).map(move |slept| tx.send(slept).unwrap());
        executor.execute(task).unwrap();
        assert_eq!(rx.recv(), Ok("slept"));
    });
}

/// Its destructor may spawn, say.
#[test]
fn what_is_dropped_is_inside_too() {
    struct Looks(mpsc::Sender<bool>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.send(Handle::try_current().is_ok()).unwrap();
        }
    }
    let runtime = runtime();
    let (tx, found) = mpsc::channel();
    let inside = InRuntime::new(Looks(tx.clone()), runtime.handle().clone());
    thread::spawn(|| drop(inside)).join().unwrap();
    assert_eq!(found.recv(), Ok(true));
    let inside = InRuntime::new(Looks(tx), runtime.handle().clone());
    drop(inside.into_inner());
    assert_eq!(found.recv(), Ok(false), "not its own any more");
}

/// Of the runtime itself, which has to outlive what it is lent to.
#[test]
fn once_the_runtime_is_gone_what_is_made_in_it_says_so() {
    let gone = runtime();
    let inside = InRuntime::new(As01::pin(sleep()), gone.handle().clone());
    drop(gone);
    let panic = thread::spawn(move || inside.wait()).join().unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("shutdown"), "{message}");
}

#[test]
fn a_panic_leaves_the_runtime() {
    let runtime = runtime();
    let inside = InRuntime::new(
        future::lazy(|| -> Result<(), ()> { panic!("in there") }),
        runtime.handle().clone(),
    );
    assert!(thread::spawn(move || {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| inside.wait()));
        assert!(waited.is_err());
        assert!(Handle::try_current().is_err());
    })
    .join()
    .is_ok());
}
