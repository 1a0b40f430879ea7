//! tokio 0.1 code (hyper 0.12, `tokio::spawn`, tokio-timer, tokio-tcp) hosted on a [`CoreThread`]
//! of tokio-core 0.1.18, under a main on tokio 1.

use std::future::Future;
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures01::sync::oneshot;
use futures01::{future, Future as _, Stream as _};
use hyper012::client::HttpConnector;
use hyper012::service::service_fn;
use hyper012::{Body, Client, Request, Response, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio01::executor::DefaultExecutor;
use tokio01::timer::Delay;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::AsTokio;
use tokio_core_compat::task::{As01, AsStd, InRuntime};

use crate::common::watched;

const SOON: Duration = Duration::from_millis(10);

/// Runs `main` as `#[tokio::main]` does.
fn on_tokio_1<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T {
    watched(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
            .block_on(main)
    })
}

/// Answers with the request's body, after a sleep on tokio 1's clock.
async fn late(request: Request<Body>) -> Result<Response<Body>, hyper012::Error> {
    tokio::time::sleep(SOON).await;
    let body = AsStd::new(request.into_body().concat2()).await?;
    Ok(Response::new(Body::from(body)))
}

/// Serves `late` on the Core until `stop` is sent. What hyper spawns is in the runtime of the caller.
async fn serve(core: &CoreThread) -> (SocketAddr, oneshot::Sender<()>) {
    let (stop, stopped) = oneshot::channel();
    let executor = InRuntime::new(DefaultExecutor::current(), Handle::current());
    let start = move |_: &_| {
        let server = Server::bind(&([127, 0, 0, 1], 0).into())
            .executor(executor)
            .serve(|| service_fn(|request| As01::pin(late(request))));
        let address = server.local_addr();
        tokio01::spawn(server.with_graceful_shutdown(stopped).map_err(drop));
        address
    };
    (core.call(start).await.unwrap(), stop)
}

/// Sends a body with a client of the Core, and brings back the answer's.
async fn post(
    core: &CoreThread,
    client: &Client<HttpConnector>,
    to: SocketAddr,
    body: Vec<u8>,
) -> Vec<u8> {
    let client = client.clone();
    let request = Request::post(format!("http://{to}/")).body(Body::from(body));
    let answer = core.run(move |_| {
        let answer = client.request(request.unwrap());
        answer.and_then(|answer| answer.into_body().concat2())
    });
    answer.await.unwrap().unwrap().to_vec()
}

/// Calls tokio 0.1's `spawn` on the Core's thread.
async fn spawn(
    core: &CoreThread,
    task: impl futures01::Future<Item = (), Error = ()> + Send + 'static,
) {
    core.call(|_| _ = tokio01::spawn(task)).await.unwrap();
}

#[test]
fn a_main_on_tokio_1_serves_and_calls_with_hyper_0_12() {
    on_tokio_1(async {
        let core = CoreThread::new("a core").unwrap();
        let (address, stop) = serve(&core).await;
        let client = core.call(|_| Client::new()).await.unwrap();
        for length in [5, 5, 1 << 20] {
            let body: Vec<u8> = (0..length).map(|at| at as u8).collect();
            assert!(post(&core, &client, address, body.clone()).await == body);
        }
        stop.send(()).unwrap();
        core.shutdown().await.unwrap();
    });
}

#[test]
fn what_tokio_spawn_runs_is_on_the_pool_and_in_no_runtime() {
    on_tokio_1(async {
        let core = CoreThread::new("a core").unwrap();
        let look = || {
            let (tx, rx) = oneshot::channel();
            let look = future::lazy(move || {
                let name = thread::current().name().map(String::from);
                tx.send((name, Handle::try_current().is_ok())).map_err(drop)
            });
            (look, AsStd::new(rx))
        };

        let (task, found) = look();
        spawn(&core, task).await;
        let (name, inside) = found.await.unwrap();
        assert_ne!(name.as_deref(), Some("a core"));
        assert!(!inside);

        let (task, found) = look();
        let task = InRuntime::new(task, Handle::current());
        spawn(&core, task).await;
        assert!(found.await.unwrap().1);

        // What `run` gets, and what `Handle::spawn` gets, is on the Core's own thread.
        let (task, found) = look();
        core.run(|_| task).await.unwrap().unwrap();
        assert_eq!(found.await.unwrap(), (Some("a core".to_owned()), true));
    });
}

#[test]
fn timers_of_tokio_0_1_fire_on_the_core_and_on_its_pool() {
    on_tokio_1(async {
        let core = CoreThread::new("a core").unwrap();
        let started = Instant::now();
        let delay = core.run(move |_| Delay::new(started + SOON));
        delay.await.unwrap().unwrap();
        let (tx, rx) = oneshot::channel();
        let task = future::lazy(move || Delay::new(started + 2 * SOON).map_err(drop));
        let task = task.and_then(|()| tx.send(()));
        spawn(&core, task).await;
        AsStd::new(rx).await.unwrap();
        assert!(started.elapsed() >= 2 * SOON);
    });
}

/// tokio-reactor has its own thread, so a socket can be polled anywhere.
#[test]
fn a_socket_of_tokio_0_1_is_used_from_a_task_of_tokio_1() {
    on_tokio_1(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let core = CoreThread::new("a core").unwrap();
        let connect = core.run(move |_| tokio01::net::TcpStream::connect(&address));
        let (stream, accepted) = tokio::join!(connect, listener.accept());
        let mut peer = accepted.unwrap().0;
        let stream = stream.unwrap().unwrap();
        let mut stream = AsTokio::with_half_close(stream, |io| io.shutdown(Shutdown::Write));
        stream.write_all(b"there").await.unwrap();
        let mut bytes = [0; 5];
        peer.read_exact(&mut bytes).await.unwrap();
        let (back, ()) = tokio::join!(stream.read_exact(&mut bytes), async {
            tokio::time::sleep(SOON).await;
            peer.write_all(b"again").await.unwrap();
        });
        back.unwrap();
        assert_eq!(&bytes, b"again");
        stream.shutdown().await.unwrap();
        assert_eq!(peer.read(&mut bytes).await.unwrap(), 0);
    });
}

#[test]
fn a_shutdown_does_not_wait_for_what_tokio_spawn_runs_and_drops_it() {
    struct Told(mpsc::Sender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (tx, dropped) = mpsc::channel();
    on_tokio_1(async {
        let core = CoreThread::new("a core").unwrap();
        let told = Told(tx);
        let task = future::empty().map(move |()| drop(told));
        spawn(&core, task).await;
        core.shutdown().await.unwrap();
    });
    dropped.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn outside_of_the_core_tokio_0_1_finds_neither_executor_nor_timer() {
    on_tokio_1(async {
        let _core = CoreThread::new("a core").unwrap();
        let spawned = thread::spawn(|| _ = tokio01::spawn(future::ok(()))).join();
        assert!(spawned.is_err());
        let delay = AsStd::new(Delay::new(Instant::now() + SOON)).await;
        assert!(delay.unwrap_err().is_shutdown());
    });
}

#[test]
fn a_runtime_of_tokio_0_1_within_the_core_is_refused() {
    on_tokio_1(async {
        let core = CoreThread::new("a core").unwrap();
        let run = core.call(|_| tokio01::run(future::ok(()))).await;
        assert!(format!("{}", run.unwrap_err()).contains("nested tokio::run"));
        let run = core.call(|_| {
            tokio01::runtime::current_thread::block_on_all(future::ok::<_, ()>(())).unwrap()
        });
        assert!(format!("{}", run.await.unwrap_err()).contains("Multiple executors at once"));
        core.shutdown().await.unwrap();
    });
}
