//! What the drop-ins add: tokio 1 in tasks of tokio 0.1, and tokio 0.1 in tasks of tokio 1.

use std::future::{poll_fn, Future};
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::future::{self, Future as _};
use futures::sync::oneshot;
use futures::Stream as _;
use programs::within_a_minute;
use tokio::runtime::Runtime;
use tokio1::io::{AsyncReadExt, AsyncWriteExt};
use tokio1::net::{TcpListener, TcpStream};
use tokio_core_compat::task::{As01, AsStd};
use tokio_reactor::Reactor;
use tokio_threadpool::{blocking, ThreadPool};
use tokio_timer::{Delay, DelayQueue, Interval, Timeout};

const SOON: Duration = Duration::from_millis(20);

/// Makes a 0.1 future of an async block.
fn old<T: 'static>(
    new: impl Future<Output = T> + Send + 'static,
) -> impl futures::Future<Item = T, Error = ()> + Send {
    As01::pin(async { Ok(new.await) })
}

/// tokio 1's sockets, timers and tasks, in one.
async fn everything() -> &'static str {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serves = tokio1::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio1::time::sleep(SOON).await;
        stream.write_all(b"hello").await.unwrap();
    });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut hello = String::new();
    stream.read_to_string(&mut hello).await.unwrap();
    serves.await.unwrap();
    assert_eq!(hello, "hello");
    tokio1::task::spawn_blocking(|| "all of it").await.unwrap()
}

fn on_tokio_1<T>(flavor: &str, main: impl Future<Output = T>) -> T {
    let mut builder = match flavor {
        "current" => tokio1::runtime::Builder::new_current_thread(),
        _ => tokio1::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().build().unwrap().block_on(main)
}

#[test]
fn tokio_1_works_in_a_task_of_tokio_run() {
    within_a_minute(|| {
        let (tx, rx) = mpsc::channel();
        tokio::run(future::lazy(move || {
            tokio::spawn(old(everything()).map(move |all| tx.send(all).unwrap()));
            Ok(())
        }));
        assert_eq!(rx.recv(), Ok("all of it"));
    });
}

#[test]
fn tokio_1_works_in_a_pool_of_its_own() {
    within_a_minute(|| {
        let pool = ThreadPool::new();
        assert_eq!(pool.spawn_handle(old(everything())).wait(), Ok("all of it"));
    });
}

#[test]
fn a_runtime_of_tokio_0_1_runs_under_a_main_on_tokio_1() {
    within_a_minute(|| {
        on_tokio_1("multi", async {
            let mut runtime = Runtime::new().unwrap();
            let (tx, rx) = oneshot::channel();
            runtime.spawn(old(everything()).and_then(|all| tx.send(all).map_err(drop)));
            assert_eq!(AsStd::new(rx).await, Ok("all of it"));
            AsStd::new(runtime.shutdown_on_idle()).await.unwrap();
        });
    });
}

#[test]
fn a_task_of_tokio_1_spawns_and_waits_as_tokio_0_1_does() {
    for flavor in ["current", "multi"] {
        within_a_minute(move || {
            on_tokio_1(flavor, async {
                let (tx, rx) = oneshot::channel();
                tokio::spawn(future::lazy(|| {
                    let start = Instant::now();
                    tokio::spawn(
                        Delay::new(start + SOON)
                            .map_err(|error| panic!("{error}"))
                            .and_then(move |()| tx.send(start.elapsed()).map_err(drop)),
                    );
                    Ok(())
                }));
                assert!(AsStd::new(rx).await.unwrap() >= SOON);
                let ticks = Interval::new_interval(SOON).take(3).collect();
                assert_eq!(AsStd::new(ticks).await.unwrap().len(), 3);
                let late = Timeout::new(future::empty::<(), ()>(), SOON);
                assert!(AsStd::new(late).await.unwrap_err().is_elapsed());
                let mut queue = DelayQueue::new();
                queue.insert(7, SOON);
                let first = AsStd::new(queue.into_future()).await;
                assert_eq!(first.ok().unwrap().0.unwrap().into_inner(), 7);
            });
        });
    }
}

#[test]
fn a_delay_follows_a_paused_clock() {
    within_a_minute(|| {
        let mut builder = tokio1::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        let start = Instant::now();
        runtime.block_on(async {
            let hour = tokio_timer::clock::now() + Duration::from_secs(3600);
            AsStd::new(Delay::new(hour)).await.unwrap();
        });
        assert!(start.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn a_delay_whose_runtime_has_ended_fails() {
    within_a_minute(|| {
        let runtime = tokio1::runtime::Runtime::new().unwrap();
        let inside = runtime.enter();
        let handle = tokio_timer::timer::Handle::current();
        drop(inside);
        let delay = handle.delay(Instant::now() + 1000 * SOON);
        let waits = std::thread::spawn(|| delay.wait());
        std::thread::sleep(SOON);
        drop(runtime);
        assert!(waits.join().unwrap().unwrap_err().is_shutdown());
    });
}

#[test]
fn a_task_of_tokio_1_may_block_if_its_runtime_has_threads() {
    within_a_minute(|| {
        let block = || AsStd::new(future::poll_fn(|| blocking(|| 7)));
        let blocked = on_tokio_1(
            "multi",
            async move { tokio1::spawn(block()).await.unwrap() },
        );
        assert_eq!(blocked.unwrap(), 7);
        let read = tokio::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let read = on_tokio_1("multi", async { tokio1::spawn(AsStd::new(read)).await });
        assert!(read.unwrap().unwrap().starts_with(b"#"));
        assert!(on_tokio_1("current", block()).is_err());
    });
}

/// 0.1 code polls its streams until they aren't ready, and would take a budget's end for that.
#[test]
fn a_task_of_tokio_0_1_has_no_budget() {
    within_a_minute(|| {
        let (tx, mut rx) = tokio1::sync::mpsc::unbounded_channel();
        (0..1_000).for_each(|item| tx.send(item).unwrap());
        let mut polls = 0;
        let takes = old(poll_fn(move |cx| {
            polls += 1;
            while let Poll::Ready(Some(_)) = rx.poll_recv(cx) {}
            assert!(rx.is_empty() && polls == 1);
            Poll::Ready(())
        }));
        assert_eq!(ThreadPool::new().spawn_handle(takes).wait(), Ok(()));
    });
}

#[test]
fn tokio_1_works_in_a_task_of_a_current_thread_runtime() {
    within_a_minute(|| {
        let mut runtime = tokio::runtime::current_thread::Runtime::new().unwrap();
        assert_eq!(runtime.block_on(old(everything())), Ok("all of it"));
    });
}

/// hyper 0.12, server and client, without a runtime of 0.1.
#[test]
fn hyper_0_12_works_in_tasks_of_tokio_1() {
    use hyper012::service::service_fn_ok;
    use hyper012::{Body, Client, Response, Server};

    within_a_minute(|| {
        for flavor in ["current", "multi"] {
            on_tokio_1(flavor, async {
                let (stop, stopped) = oneshot::channel::<()>();
                let hello = || service_fn_ok(|_| Response::new(Body::from("hello")));
                let server = Server::bind(&"127.0.0.1:0".parse().unwrap()).serve(hello);
                let url = format!("http://{}/", server.local_addr());
                let server = server.with_graceful_shutdown(stopped);
                let server = tokio1::spawn(AsStd::new(server));
                let answer = Client::new().get(url.parse().unwrap());
                let body = answer.and_then(|answer| answer.into_body().concat2());
                assert_eq!(&*AsStd::new(body).await.unwrap(), b"hello");
                stop.send(()).unwrap();
                server.await.unwrap().unwrap();
            });
        }
    });
}

#[test]
#[should_panic = "Cannot start a runtime from within a runtime"]
fn a_current_thread_runtime_does_not_wait_in_a_task_of_tokio_1() {
    on_tokio_1("current", async {
        let mut runtime = tokio::runtime::current_thread::Runtime::new().unwrap();
        let _ = runtime.block_on(future::empty::<(), ()>());
    });
}

/// The real crate sleeps until another event.
#[test]
fn a_reactor_in_the_background_ends_with_its_last_source() {
    within_a_minute(|| {
        let background = Reactor::new().unwrap().background().unwrap();
        let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let stream = tokio::net::UnixStream::from_std(stream, background.handle()).unwrap();
        let ended = background.shutdown_on_idle();
        let waits = std::thread::spawn(move || ended.wait());
        std::thread::sleep(SOON);
        assert!(!waits.is_finished());
        drop(stream);
        waits.join().unwrap().unwrap();
    });
}
