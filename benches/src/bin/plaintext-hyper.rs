//! `plaintext-hyper -t THREADS -p PORT`: a plaintext server on hyper 1 and tokio 1, current thread.
//!
//! hyper parses, keeps the date, and gathers the replies to pipelined requests (`pipeline_flush`).

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_TYPE, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ptunnel_benches::peer::listener::listener;
use ptunnel_benches::peer::serving::Serving;
use tokio::task::{spawn_local, LocalSet};

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = listener(listen)?;
        let mut http = http1::Builder::new();
        http.pipeline_flush(true);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = http.serve_connection(TokioIo::new(stream), service_fn(service));
            // A connection that fails is closed, and the others go on.
            spawn_local(connection);
        }
    })
}

async fn service(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/plaintext") => (StatusCode::OK, "Hello, World!"),
        _ => (StatusCode::NOT_FOUND, ""),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("M"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
