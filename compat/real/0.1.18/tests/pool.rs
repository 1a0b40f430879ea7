//! tokio-core 0.1.18's `spawn_send`: tokio 0.1's pool, whose threads are in no tokio 1 runtime.

use std::thread;
use std::time::Duration;

use futures01::sync::oneshot;
use futures01::Future;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::task::{As01, AsStd, InRuntime};

use crate::common::watched;

/// Sleeps on tokio 1's clock, and returns the name of its thread.
fn sleep() -> impl Future<Item = Option<String>, Error = ()> + Send {
    As01::pin(async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(thread::current().name().map(String::from))
    })
}

/// What `spawn_send` runs on a Core thread that was made in a runtime; an error when it panicked.
fn spawn_send<F>(
    wrap: impl FnOnce(Box<dyn Future<Item = (), Error = ()> + Send>) -> F,
) -> Result<Option<String>, oneshot::Canceled>
where
    F: Future<Item = (), Error = ()> + Send + 'static,
{
    let (tx, rx) = oneshot::channel();
    let task = wrap(Box::new(sleep().map(|name| drop(tx.send(name)))));
    let core = CoreThread::new("a core").unwrap();
    let runtime = tokio::runtime::Handle::current();
    let spawn = core.run(move |handle| {
        handle.spawn_send(task);
        Ok::<_, ()>(())
    });
    tokio::task::block_in_place(|| {
        runtime.block_on(async {
            spawn.await.unwrap().unwrap();
            AsStd::new(rx).await
        })
    })
}

fn in_a_runtime<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    watched(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap()
            .block_on(async { f() })
    })
}

#[test]
fn what_spawn_send_runs_is_in_no_runtime() {
    in_a_runtime(|| assert!(spawn_send(|task| task).is_err()));
}

#[test]
fn in_runtime_brings_the_runtime_onto_tokio_0_1_s_pool() {
    in_a_runtime(|| {
        let runtime = tokio::runtime::Handle::current();
        let name = spawn_send(|task| InRuntime::new(task, runtime)).unwrap();
        assert_ne!(name.as_deref(), Some("a core"), "on the pool");
    });
}
