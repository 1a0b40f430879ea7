//! hyper 0.11, server and client, as the registry has it.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures::future::{self, FutureResult, Loop};
use futures::sync::oneshot;
use futures::{stream, Future, Sink, Stream};
use hyper::client::HttpConnector;
use hyper::header::ContentLength;
use hyper::server::{Http, Request, Response, Service};
use hyper::{Body, Chunk, Client, Method, StatusCode};
use programs::within_a_minute;
use tokio_core::net::TcpListener;
use tokio_core::reactor::{Core, Handle, Timeout};

const MIB: usize = 1024 * 1024;
const BULK: usize = 64 * MIB;
/// What a bulk body consists of.
const PIECE: &[u8] = &[7; 64 * 1024];

/// `GET /` says hello, `GET /bulk` sends 64 MiB, `POST /` answers with the sum and length of the
/// body, `GET /slow` answers after 50 ms.
struct Site {
    handle: Handle,
}

fn checksum(sum: (u64, u64), chunk: &[u8]) -> (u64, u64) {
    let bytes = chunk.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    (sum.0 + bytes, sum.1 + chunk.len() as u64)
}

fn bulk() -> Body {
    let (sender, body) = Body::pair();
    let pieces = stream::repeat::<_, &str>(PIECE).take((BULK / PIECE.len()) as u64);
    thread::spawn(move || {
        // The body's sender is a channel, so that the pieces can come from another thread.
        let pieces = pieces.map(|piece| Ok(Chunk::from(piece)));
        let sender = sender.sink_map_err(|_| "the client has left");
        let _ = sender.send_all(pieces).wait();
    });
    body
}

impl Service for Site {
    type Request = Request;
    type Response = Response;
    type Error = hyper::Error;
    type Future = Box<dyn Future<Item = Response, Error = hyper::Error>>;

    fn call(&self, request: Request) -> Self::Future {
        match (request.method().clone(), request.path()) {
            (Method::Get, "/") => Box::new(future::ok(Response::new().with_body("hello"))),
            (Method::Get, "/bulk") => Box::new(future::ok(Response::new().with_body(bulk()))),
            (Method::Get, "/slow") => {
                let later = Timeout::new(Duration::from_millis(50), &self.handle).unwrap();
                let answer = later.map(|()| Response::new().with_body("late"));
                Box::new(answer.map_err(hyper::Error::from))
            }
            (Method::Post, _) => {
                let sum = request.body().fold((0, 0), |sum, chunk| {
                    future::ok::<_, hyper::Error>(checksum(sum, &chunk))
                });
                Box::new(sum.map(|sum| Response::new().with_body(format!("{sum:?}"))))
            }
            _ => Box::new(future::ok(
                Response::new().with_status(StatusCode::NotFound),
            )),
        }
    }
}

/// A server on its own Core and thread, which counts its connections.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<usize>,
}

impl Server {
    fn start() -> Server {
        let (stop, stopped) = oneshot::channel();
        let (started, starts) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut core = Core::new().unwrap();
            let handle = core.handle();
            let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &handle).unwrap();
            started.send(listener.local_addr().unwrap()).unwrap();
            let connections = Rc::new(Cell::new(0));
            let counted = connections.clone();
            let http = Http::<Chunk>::new();
            let serve = listener.incoming().for_each(move |(stream, peer)| {
                counted.set(counted.get() + 1);
                let site = Site {
                    handle: handle.clone(),
                };
                http.bind_connection(&handle, stream, peer, site);
                Ok(())
            });
            let serve = serve.map_err(|error| panic!("{error}"));
            let until = serve.select(stopped.map_err(drop));
            assert!(core.run(until).is_ok());
            connections.get()
        });
        let address = starts.recv().unwrap();
        Server {
            address,
            stop,
            thread,
        }
    }

    fn url(&self, path: &str) -> hyper::Uri {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// Stops the server and returns how many connections it has had.
    fn stop(self) -> usize {
        let _ = self.stop.send(());
        self.thread.join().unwrap()
    }
}

type HttpClient = Client<HttpConnector, Body>;

fn get(client: &HttpClient, url: hyper::Uri) -> impl Future<Item = Vec<u8>, Error = hyper::Error> {
    client.get(url).and_then(|response| {
        assert_eq!(response.status(), StatusCode::Ok);
        response.body().concat2().map(|body| body.to_vec())
    })
}

#[test]
fn requests_in_turn_share_one_connection() {
    within_a_minute(|| {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let client = Client::new(&core.handle());
        let url = server.url("/");
        let hundred = future::loop_fn(0, |done| {
            get(&client, url.clone()).map(move |body| {
                assert_eq!(body, b"hello");
                match done + 1 {
                    100 => Loop::Break(()),
                    done => Loop::Continue(done),
                }
            })
        });
        core.run(hundred).unwrap();
        assert_eq!(server.stop(), 1);
    });
}

#[test]
fn two_hundred_requests_at_once_are_answered() {
    within_a_minute(|| {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let client = Client::new(&core.handle());
        let all = (0..200).map(|_| get(&client, server.url("/slow")));
        let bodies = core.run(future::join_all(all)).unwrap();
        assert!(bodies.iter().all(|body| body == b"late"));
        assert!(server.stop() > 1);
    });
}

/// 20,000 requests over fifty clients.
#[test]
fn a_load_of_requests_is_answered() {
    const CLIENTS: usize = 50;
    const EACH: usize = 400;
    within_a_minute(|| {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let handle = core.handle();
        let url = server.url("/");
        let clients = (0..CLIENTS).map(|_| {
            let client = Client::new(&handle);
            let url = url.clone();
            future::loop_fn(0, move |done| {
                get(&client, url.clone()).map(move |body| {
                    assert_eq!(body, b"hello");
                    match done + 1 {
                        EACH => Loop::Break(()),
                        done => Loop::Continue(done),
                    }
                })
            })
        });
        core.run(future::join_all(clients)).unwrap();
        assert_eq!(server.stop(), CLIENTS);
    });
}

#[test]
fn a_body_of_64_mib_comes_whole_each_way() {
    let expected = (7 * BULK as u64, BULK as u64);
    within_a_minute(move || {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let client = Client::new(&core.handle());
        let down = client.get(server.url("/bulk")).and_then(|response| {
            response.body().fold((0, 0), |sum, chunk| {
                future::ok::<_, hyper::Error>(checksum(sum, &chunk))
            })
        });
        assert_eq!(core.run(down).unwrap(), expected);

        let mut upload = hyper::Request::new(Method::Post, server.url("/"));
        upload.headers_mut().set(ContentLength(BULK as u64));
        upload.set_body(bulk());
        let answer = client.request(upload);
        let answer = core.run(answer.and_then(|response| response.body().concat2()));
        assert_eq!(&*answer.unwrap(), format!("{expected:?}").as_bytes());
        server.stop();
    });
}

#[test]
fn a_request_that_is_dropped_and_a_client_that_leaves_harm_no_other() {
    within_a_minute(|| {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let client = Client::new(&core.handle());
        // Dropped while it waits for its answer.
        let dropped = get(&client, server.url("/slow"));
        let moment = Timeout::new(Duration::from_millis(10), &core.handle()).unwrap();
        core.run(moment.map_err(hyper::Error::from).select2(dropped))
            .ok()
            .unwrap();
        // Leaves in the middle of a body.
        let mut leaves = TcpStream::connect(server.address).unwrap();
        leaves
            .write_all(b"GET /bulk HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        leaves.read_exact(&mut [0; 4096]).unwrap();
        drop(leaves);
        let body = core.run(get(&client, server.url("/"))).unwrap();
        assert_eq!(body, b"hello");
        server.stop();
    });
}

/// `bind`, `run_until`: a library that owns its Core.
fn serve_until(stop: oneshot::Receiver<()>, started: mpsc::Sender<SocketAddr>) {
    let make = || -> std::io::Result<_> {
        Ok(hyper::server::service_fn(
            |_: Request| -> FutureResult<_, _> {
                future::ok::<_, hyper::Error>(Response::<Body>::new().with_body("hello"))
            },
        ))
    };
    let server = Http::<Chunk>::new()
        .bind(&"127.0.0.1:0".parse().unwrap(), make)
        .unwrap();
    started.send(server.local_addr().unwrap()).unwrap();
    server.run_until(stop.map_err(drop)).unwrap();
}

fn ask(address: SocketAddr) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.write_all(request).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_that_owns_its_core_runs_beside_tokio_1() {
    within_a_minute(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (stop, stopped) = oneshot::channel();
            let (started, starts) = mpsc::channel();
            let server = tokio::task::spawn_blocking(move || serve_until(stopped, started));
            let answer = tokio::task::spawn_blocking(move || ask(starts.recv().unwrap()));
            let answer = answer.await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("\r\nhello\r\n"), "{answer}");
            stop.send(()).unwrap();
            server.await.unwrap();
        });
    });
}

#[test]
fn tasks_beside_the_server_go_on() {
    within_a_minute(|| {
        let server = Server::start();
        let mut core = Core::new().unwrap();
        let client = Client::new(&core.handle());
        let ticks = Rc::new(RefCell::new(0));
        let counted = ticks.clone();
        let period = Duration::from_millis(1);
        let interval = tokio_core::reactor::Interval::new(period, &core.handle()).unwrap();
        core.handle().spawn(
            interval
                .for_each(move |()| {
                    *counted.borrow_mut() += 1;
                    Ok(())
                })
                .map_err(drop),
        );
        let down = client.get(server.url("/bulk"));
        core.run(down.and_then(|response| response.body().for_each(|_| Ok(()))))
            .unwrap();
        assert!(*ticks.borrow() > 0);
        server.stop();
    });
}
