//! `plaintext-hyper011 -t THREADS -p PORT`: a plaintext server on hyper 0.11, which runs on futures 0.1 and tokio-core.
//!
//! hyper parses, keeps the date, and gathers the replies to pipelined requests (`pipeline`).

use std::io;
use std::net::SocketAddr;

use futures::future::{self, FutureResult};
use futures::{Future, Stream};
use hyper::header::{ContentLength, ContentType, Server};
use hyper::server::{Http, Request, Response, Service};
use hyper::{Method, StatusCode};
use ptunnel_benches_legacy::serving::Serving;
use tokio_core::net::TcpListener;
use tokio_core::reactor::Core;

const BODY: &str = "Hello, World!";

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let mut core = Core::new()?;
    let handle = core.handle();
    let socket = ptunnel_benches_legacy::listen(listen)?;
    let listener = TcpListener::from_listener(socket, &listen, &handle)?;
    let mut http = Http::<hyper::Chunk>::new();
    http.pipeline(true);
    let serve = listener.incoming().for_each(|(stream, _)| {
        stream.set_nodelay(true)?;
        let connection = http.serve_connection(stream, Plaintext);
        // A connection that fails is closed, and nobody else is concerned.
        handle.spawn(connection.then(|_| Ok(())));
        Ok(())
    });
    core.run(serve)
}

struct Plaintext;

impl Service for Plaintext {
    type Request = Request;
    type Response = Response;
    type Error = hyper::Error;
    type Future = FutureResult<Response, hyper::Error>;

    fn call(&self, request: Request) -> Self::Future {
        let response = Response::new().with_header(Server::new("M"));
        future::ok(match (request.method(), request.path()) {
            (&Method::Get, "/plaintext") => response
                .with_header(ContentLength(BODY.len() as u64))
                .with_header(ContentType(hyper::mime::TEXT_PLAIN))
                .with_body(BODY),
            _ => response
                .with_status(StatusCode::NotFound)
                .with_header(ContentLength(0)),
        })
    }
}
