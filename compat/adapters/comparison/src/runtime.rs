//! Timers, spawning, and which runtime.

use std::rc::Rc;
use std::time::{Duration, Instant};

use futures01::{future, Future as _};
use futures_util::TryFutureExt as _;
use tokio::runtime::Builder;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::spawn::{Local, Spawner};
use tokio_core_compat::task::{As01, AsStd, InRuntime};
use tokio_core_compat::time::{Current, Timeout};

use crate::{block_on, yes, Row};

const SOON: Duration = Duration::from_millis(1);

pub fn rows() -> Vec<Row> {
    vec![
        Row(
            "tokio-core's `Timeout` on tokio 1's clock",
            [
                Some(|| {
                    yes(
                        block_on(async { AsStd::new(Timeout::new(SOON, &Current).unwrap()).await })
                            .is_ok(),
                    )
                }),
                None,
                None,
                None,
            ],
        ),
        Row(
            "tokio 0.1's timers and `spawn`, beside std futures",
            [
                None,
                None,
                Some(|| {
                    let mut runtime = tokio_compat::runtime::Runtime::new().unwrap();
                    let (tx, rx) = futures01::oneshot();
                    runtime.spawn(future::lazy(|| {
                        let slept = tokio01::timer::Delay::new(Instant::now() + SOON);
                        tokio01::spawn(slept.then(|slept| tx.send(slept.is_ok()).map_err(drop)))
                    }));
                    yes(runtime.block_on(rx) == Ok(true)) + ", on tokio 0.2"
                }),
                None,
            ],
        ),
        Row(
            "spawns 0.1 futures that are `Send`",
            [
                Some(|| {
                    let runtime = Builder::new_multi_thread().build().unwrap();
                    let spawner = Spawner::new(runtime.handle().clone());
                    let spawned = spawner.spawn(future::ok::<_, ()>(42));
                    yes(block_on(spawned).unwrap() == Ok(42))
                }),
                None,
                Some(|| {
                    let mut runtime = tokio_compat::runtime::Runtime::new().unwrap();
                    let (tx, rx) = futures01::oneshot();
                    runtime.spawn(future::lazy(|| tx.send(42).map_err(drop)));
                    yes(runtime.block_on(rx) == Ok(42)) + ", on tokio 0.2"
                }),
                None,
            ],
        ),
        Row(
            "spawns 0.1 futures that are not, by a handle",
            [
                Some(|| {
                    let runtime = Builder::new_current_thread().build().unwrap();
                    let local = Local::new(runtime.handle());
                    let (tx, rx) = futures01::unsync::oneshot::channel();
                    let value = Rc::new(42);
                    local
                        .handle()
                        .spawn(future::lazy(|| tx.send(value).map_err(drop)));
                    let got = runtime.block_on(local.run_until(AsStd::new(rx)));
                    yes(got == Ok(Rc::new(42)))
                }),
                None,
                Some(|| {
                    let mut runtime =
                        tokio_compat::runtime::current_thread::Runtime::new().unwrap();
                    let (tx, rx) = futures01::unsync::oneshot::channel();
                    let value = Rc::new(42);
                    runtime.spawn(future::lazy(|| tx.send(value).map_err(drop)));
                    yes(runtime.block_on(rx) == Ok(Rc::new(42))) + ", on tokio 0.2"
                }),
                None,
            ],
        ),
        Row(
            "hosts a tokio-core `Core`, and awaits what runs there",
            [
                Some(|| {
                    yes(block_on(async {
                        let core = CoreThread::new("core").unwrap();
                        core.run(|handle| tokio_core::reactor::Timeout::new(SOON, handle).unwrap())
                            .await
                            .unwrap()
                    })
                    .is_ok())
                }),
                None,
                None,
                None,
            ],
        ),
        Row(
            "a tokio 1 timer in async code that a 0.1 executor polls",
            [
                Some(|| {
                    let runtime = running();
                    let slept = As01::pin(sleep());
                    yes(InRuntime::new(slept, runtime.handle().clone())
                        .wait()
                        .is_ok())
                }),
                Some(|| {
                    let _runtime = running();
                    let slept = Box::pin(sleep());
                    yes(slept.compat().wait().is_ok())
                }),
                None,
                Some(|| {
                    let slept = async_compat::Compat::new(sleep());
                    yes(Box::pin(slept).compat().wait().is_ok()) + ", on a runtime of its own"
                }),
            ],
        ),
    ]
}

/// A runtime that is there, and that the probing thread is not in.
fn running() -> tokio::runtime::Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

async fn sleep() -> Result<(), ()> {
    tokio::time::sleep(SOON).await;
    Ok(())
}
