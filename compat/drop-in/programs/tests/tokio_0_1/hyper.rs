//! hyper 0.12, server and client, as the registry has it, on both of tokio 0.1's runtimes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Loop};
use futures::sync::oneshot;
use futures::{stream, Async, Future, Poll, Stream};
use hyper012::client::HttpConnector;
use hyper012::server::conn::AddrStream;
use hyper012::service::{make_service_fn, service_fn};
use hyper012::{Body, Client, Method, Request, Response, Server, StatusCode, Uri};
use programs::within_a_minute;
use tokio::runtime::{current_thread, Runtime};
use tokio::timer::Delay;

const MIB: usize = 1024 * 1024;
const BULK: usize = 64 * MIB;
/// What a bulk body consists of: its length is no power of two, so that a piece that is lost or comes
/// twice is seen.
static PIECE: [u8; 65_003] = {
    let mut piece = [0; 65_003];
    let mut at = 0;
    while at < piece.len() {
        piece[at] = (at % 251) as u8;
        at += 1;
    }
    piece
};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Answer = Box<dyn Future<Item = Response<Body>, Error = Error> + Send>;
type HttpClient = Client<HttpConnector, Body>;

/// What a server or a client runs on.
#[derive(Clone, Copy, Debug)]
enum On {
    /// `tokio::runtime::Runtime`, a pool of threads.
    Pool,
    /// `tokio::runtime::current_thread::Runtime`.
    CurrentThread,
}

use On::{CurrentThread, Pool};

impl On {
    fn block_on<T: Send + 'static>(
        self,
        future: impl Future<Item = T, Error = Error> + Send + 'static,
    ) -> T {
        match self {
            Pool => {
                let mut runtime = Runtime::new().unwrap();
                let result = runtime.block_on(future);
                runtime.shutdown_now().wait().unwrap();
                result
            }
            CurrentThread => current_thread::Runtime::new().unwrap().block_on(future),
        }
        .unwrap()
    }
}

/// Returns the position after `chunk`, which begins at `at` of a bulk body.
///
/// # Panics
///
/// If it is not what belongs there.
fn check(at: usize, mut chunk: &[u8]) -> usize {
    let end = at + chunk.len();
    while !chunk.is_empty() {
        let expected = &PIECE[(end - chunk.len()) % PIECE.len()..];
        let n = expected.len().min(chunk.len());
        assert!(chunk[..n] == expected[..n], "near {}", end - chunk.len());
        chunk = &chunk[n..];
    }
    end
}

fn bulk() -> Body {
    let mut left = BULK;
    let pieces = stream::poll_fn(move || -> Poll<_, Error> {
        let n = left.min(PIECE.len());
        left -= n;
        Ok(Async::Ready((n > 0).then_some(&PIECE[..n])))
    });
    Body::wrap_stream(pieces)
}

/// Returns the length of a bulk body.
fn length(body: Body) -> impl Future<Item = usize, Error = Error> {
    let end = |at, chunk: hyper012::Chunk| Ok::<_, hyper012::Error>(check(at, &chunk));
    body.fold(0, end).map_err(Error::from)
}

/// `GET /` says hello, `GET /bulk` sends 64 MiB, `POST /` answers with the length of the body,
/// `GET /slow` answers after 50 ms.
fn answer(request: Request<Body>) -> Answer {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => Box::new(future::ok(Response::new(Body::from("hello")))),
        (&Method::GET, "/bulk") => Box::new(future::ok(Response::new(bulk()))),
        (&Method::GET, "/slow") => {
            let later = Delay::new(Instant::now() + Duration::from_millis(50));
            let late = later.map(|()| Response::new(Body::from("late")));
            Box::new(late.map_err(Error::from))
        }
        (&Method::POST, _) => {
            let length = length(request.into_body());
            Box::new(length.map(|length| Response::new(Body::from(length.to_string()))))
        }
        _ => {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::NOT_FOUND;
            Box::new(future::ok(answer))
        }
    }
}

/// A server on its own runtime and thread, which counts its connections.
struct Site {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
    connections: Arc<AtomicUsize>,
}

impl Site {
    fn start(on: On) -> Site {
        let (stop, stopped) = oneshot::channel();
        let (started, starts) = mpsc::channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let thread = thread::spawn(move || {
            let serve = future::lazy(move || {
                let make = make_service_fn(move |_: &AddrStream| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Error>(service_fn(answer))
                });
                let server = Server::bind(&"127.0.0.1:0".parse().unwrap()).serve(make);
                started.send(server.local_addr()).unwrap();
                server.with_graceful_shutdown(stopped).map_err(Error::from)
            });
            on.block_on(serve);
        });
        Site {
            address: starts.recv().unwrap(),
            stop,
            thread,
            connections,
        }
    }

    fn url(&self, path: &str) -> Uri {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// Stops the server once its connections are idle; returns how many it has had.
    fn stop(self) -> usize {
        let _ = self.stop.send(());
        self.thread.join().unwrap();
        self.connections.load(Ordering::SeqCst)
    }
}

/// Runs `test` with a server on each kind of runtime, and a kind for the client.
fn on_each(test: fn(Site, On)) {
    within_a_minute(move || {
        for on in [Pool, CurrentThread] {
            test(Site::start(on), on);
        }
    });
}

fn body(response: Response<Body>) -> impl Future<Item = Vec<u8>, Error = Error> {
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().concat2();
    body.map(|body| body.to_vec()).map_err(Error::from)
}

fn get(client: &HttpClient, url: Uri) -> impl Future<Item = Vec<u8>, Error = Error> {
    client.get(url).map_err(Error::from).and_then(body)
}

/// Asks `times` for `url`, one after the other.
fn ask(client: HttpClient, url: Uri, times: usize) -> impl Future<Item = (), Error = Error> {
    future::loop_fn(0, move |done| {
        get(&client, url.clone()).map(move |body| {
            assert_eq!(body, b"hello");
            match done + 1 {
                done if done == times => Loop::Break(()),
                done => Loop::Continue(done),
            }
        })
    })
}

#[test]
fn requests_in_turn_share_one_connection() {
    on_each(|site, on| {
        let url = site.url("/");
        on.block_on(future::lazy(|| ask(Client::new(), url, 100)));
        assert_eq!(site.stop(), 1);
    });
}

#[test]
fn two_hundred_requests_at_once_are_answered() {
    on_each(|site, on| {
        let url = site.url("/slow");
        let bodies = on.block_on(future::lazy(move || {
            let client = Client::new();
            future::join_all((0..200).map(move |_| get(&client, url.clone())))
        }));
        assert_eq!(bodies.len(), 200);
        assert!(bodies.iter().all(|body| body == b"late"));
        assert!(site.stop() > 1);
    });
}

/// 10,000 requests over fifty clients.
#[test]
fn a_load_of_requests_is_answered() {
    const CLIENTS: usize = 50;
    const EACH: usize = 200;
    on_each(|site, on| {
        let url = site.url("/");
        on.block_on(future::lazy(move || {
            let clients = (0..CLIENTS).map(move |_| ask(Client::new(), url.clone(), EACH));
            future::join_all(clients).map(drop)
        }));
        assert_eq!(site.stop(), CLIENTS);
    });
}

#[test]
fn a_body_of_64_mib_comes_whole_each_way() {
    on_each(|site, on| {
        let url = site.url("/bulk");
        let down = on.block_on(future::lazy(move || {
            let answer = Client::new().get(url).map_err(Error::from);
            answer.and_then(|answer| length(answer.into_body()))
        }));
        assert_eq!(down, BULK);

        let url = site.url("/");
        let up = on.block_on(future::lazy(move || {
            let upload = Request::post(url).body(bulk()).unwrap();
            let answer = Client::new().request(upload);
            answer.map_err(Error::from).and_then(body)
        }));
        assert_eq!(up, BULK.to_string().as_bytes());
        site.stop();
    });
}

#[test]
fn http_2_has_many_requests_on_one_connection() {
    on_each(|site, on| {
        let url = site.url("/slow");
        let bodies = on.block_on(future::lazy(move || {
            let client = Client::builder().http2_only(true).build_http();
            let first = get(&client, url.clone());
            first.and_then(move |_| {
                future::join_all((0..50).map(move |_| get(&client, url.clone())))
            })
        }));
        assert!(bodies.iter().all(|body| body == b"late"));
        assert_eq!(site.stop(), 1);
    });
}

#[test]
fn a_request_that_is_dropped_and_a_client_that_leaves_harm_no_other() {
    on_each(|site, on| {
        // Leaves in the middle of a body.
        let mut leaves = TcpStream::connect(site.address).unwrap();
        let request = b"GET /bulk HTTP/1.1\r\nHost: a\r\n\r\n";
        leaves.write_all(request).unwrap();
        leaves.read_exact(&mut [0; 4096]).unwrap();
        drop(leaves);
        let (slow, fast) = (site.url("/slow"), site.url("/"));
        let body = on.block_on(future::lazy(move || {
            let client = Client::new();
            // Dropped while it waits for its answer.
            let dropped = get(&client, slow).map(|_| panic!("answered at once"));
            let moment = Delay::new(Instant::now() + Duration::from_millis(10));
            let moment = moment.map_err(Error::from);
            moment
                .select(dropped)
                .map_err(|(error, _)| error)
                .and_then(move |_| get(&client, fast))
        }));
        assert_eq!(body, b"hello");
        site.stop();
    });
}

#[test]
fn a_refused_connection_is_an_error() {
    within_a_minute(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url: Uri = format!("http://{}/", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        drop(listener);
        for on in [Pool, CurrentThread] {
            let url = url.clone();
            let error = on.block_on(future::lazy(move || {
                Client::new()
                    .get(url)
                    .then(|result| Ok(result.unwrap_err()))
            }));
            assert!(error.is_connect(), "{error}");
        }
    });
}

/// What `hyper::rt::run` runs ends when nothing is left to do: no server, no idle connection.
#[test]
fn run_returns_when_its_tasks_have_ended() {
    within_a_minute(|| {
        let site = Site::start(Pool);
        let url = site.url("/");
        let (sender, answers) = mpsc::channel();
        hyper012::rt::run(future::lazy(move || {
            hyper012::rt::spawn(
                get(&Client::new(), url)
                    .map(move |body| sender.send(body).unwrap())
                    .map_err(|error| panic!("{error}")),
            );
            Ok(())
        }));
        assert_eq!(answers.try_recv().unwrap(), b"hello");
        site.stop();
    });
}
