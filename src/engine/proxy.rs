//! The other side of CONNECT: a proxy of our own, on the same engine.
//!
//! ```text
//!   reading the head ──▶ judging ──▶ dialling ──▶ 200 ──▶ relay
//!                           └───────────┴──▶ 400 403 405 407 502 504, and the end
//! ```
//!
//! It connects directly, to whatever the client names and the user allows.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{self, Either};
use futures::{Async, Future, Poll};
use tokio_io::io as aio;
use tokio_io::{AsyncRead, AsyncWrite};

use super::limits::Deadline;
use super::session::Line;
use super::{Engine, Origin, Via};
use crate::config::{Family, HostPort, ServeSpec};
use crate::error::{Error, Peer};
use crate::escape::Escaped;
use crate::net::{poll_io, Rewind, Socket};
use crate::wire::{auth, encode_response, HeadReader, Inbound, Malformed, HEAD_LIMIT};

/// What one read asks for: most requests come in one.
const CHUNK: usize = 2 * 1024;

/// How long a client that was denied may go on sending, so that it gets to read the answer.
const PARTING: Duration = Duration::from_secs(2);
/// How much it may send meanwhile.
const PARTING_BYTES: u64 = 256 * 1024;

const GRANTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// The embedded proxy. Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct Proxy {
    spec: Arc<ServeSpec>,
}

impl Proxy {
    /// A proxy as `spec` has it; where it listens is for the caller to see to.
    pub fn new(spec: ServeSpec) -> Proxy {
        Proxy {
            spec: Arc::new(spec),
        }
    }

    /// Serves one client, which belongs to the future.
    ///
    /// Fails with what the client was told, or why it couldn't be told anything.
    pub fn serve(
        &self,
        client: Socket,
        origin: Origin,
        engine: &Engine,
    ) -> impl Future<Item = (), Error = Error> {
        let (proxy, engine) = (self.clone(), engine.clone());
        let start = Instant::now();
        let limit = engine.settings().timeouts.handshake;
        let late = || Error::denied("no request within the handshake timeout");
        let asked = Deadline::new(ReadRequest::new(client), limit, engine.handle(), late);
        asked.and_then(move |(client, request)| match proxy.judge(request) {
            Ok(target) => Either::A(open(client, target, origin, start, engine)),
            Err(denial) => Either::B(denial.tell(client, &engine)),
        })
    }

    /// The destination, if the client may have it.
    fn judge(&self, request: Result<Inbound, Malformed>) -> Result<HostPort, Denial> {
        let request = request.map_err(|why| Denial::new(400, why.to_string()))?;
        if let Some(wanted) = &self.spec.credentials {
            let given = request.authorization.as_ref();
            if !given.map_or(false, |given| auth::is_basic(given, wanted)) {
                return Err(Denial::new(
                    407,
                    "this proxy asks for a user and a password",
                ));
            }
        }
        if request.method != "CONNECT" {
            let why = format!("only CONNECT is served, not {}", request.method);
            return Err(Denial::new(405, why));
        }
        let target = request.target.parse::<HostPort>();
        let target = target.map_err(|e| Denial::new(400, e.to_string()))?;
        let allow = &self.spec.allow;
        if !allow.is_empty() && !allow.iter().any(|pattern| pattern.covers(&target)) {
            return Err(Denial::new(403, format!("{} is not allowed here", target)));
        }
        Ok(target)
    }
}

/// Connects the client to its destination, or tells it why not.
fn open(
    client: Rewind<Socket>,
    target: HostPort,
    origin: Origin,
    start: Instant,
    engine: Engine,
) -> impl Future<Item = (), Error = Error> {
    let dial = engine.dial(Peer::Destination(target.clone()), &target, Family::Any);
    // Boxed: an idle tunnel shall not weigh what opening it took.
    let dial: Box<dyn Future<Item = Socket, Error = Error>> = Box::new(dial);
    dial.then(move |dialled| match dialled {
        Ok(upstream) => Either::A(
            aio::write_all(client, GRANTED)
                .map_err(|e| Error::other("cannot answer", e))
                .and_then(move |(client, _)| {
                    let line = Line {
                        origin,
                        destination: target,
                        via: Via::DIRECTLY,
                        start,
                    };
                    line.log(engine.relay(client, upstream)).map(drop)
                }),
        ),
        Err(e) => {
            let status = if e.is_timeout() { 504 } else { 502 };
            Either::B(Denial::new(status, e.to_string()).tell(client, &engine))
        }
    })
}

/// A no, and its reason.
struct Denial {
    status: u16,
    why: String,
}

impl Denial {
    fn new(status: u16, why: impl Into<String>) -> Denial {
        Denial {
            status,
            why: why.into(),
        }
    }

    fn reason(&self) -> &'static str {
        match self.status {
            400 => "Bad Request",
            403 => "Forbidden",
            405 => "Method Not Allowed",
            407 => "Proxy Authentication Required",
            504 => "Gateway Timeout",
            _ => "Bad Gateway",
        }
    }

    /// Fields that belong to the status (RFC 9110 §15.5.6, §15.5.8).
    fn fields(&self) -> &'static str {
        match self.status {
            405 => "Allow: CONNECT\r\n",
            407 => "Proxy-Authenticate: Basic realm=\"ptunnel\", charset=\"UTF-8\"\r\n",
            _ => "",
        }
    }

    /// Answers, and fails with what it answered.
    ///
    /// A client that still sends when its connection is closed gets a reset, which may destroy
    /// the answer before it is read; so what it sends is read, for a while, and left aside.
    fn tell(
        self,
        client: Rewind<Socket>,
        engine: &Engine,
    ) -> impl Future<Item = (), Error = Error> {
        let (status, reason) = (self.status, self.reason());
        let why = Escaped(self.why.as_bytes()).to_string();
        let reply = encode_response(status, reason, self.fields(), &why);
        let parting = aio::write_all(client, reply)
            .and_then(|(client, _)| aio::shutdown(client))
            .and_then(|client| aio::copy(io::Read::take(client, PARTING_BYTES), io::sink()))
            .map_err(|e| Error::other("cannot answer", e));
        let late = || Error::denied("");
        Deadline::new(parting, PARTING, engine.handle(), late)
            .then(move |_| future::err(Error::denied(format!("{} {} ({})", status, reason, why))))
    }
}

/// Reads the head of a request; resolves to what it says, and the client with what came behind.
struct ReadRequest<S> {
    state: Option<(S, HeadReader)>,
}

impl<S: AsyncRead + AsyncWrite> ReadRequest<S> {
    fn new(client: S) -> ReadRequest<S> {
        ReadRequest {
            state: Some((client, HeadReader::new(HEAD_LIMIT))),
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Future for ReadRequest<S> {
    type Item = (Rewind<S>, Result<Inbound, Malformed>);
    type Error = Error;

    fn poll(&mut self) -> Poll<Self::Item, Error> {
        let (mut client, mut head) = self
            .state
            .take()
            .expect("ReadRequest polled after it was done");
        let mut chunk = [0; CHUNK];
        loop {
            let read = poll_io(client.read(&mut chunk));
            let count = match read.map_err(|e| Error::other("no request", e))? {
                Async::Ready(0) => return Err(Error::denied("it left without a request")),
                Async::Ready(count) => count,
                Async::NotReady => {
                    self.state = Some((client, head));
                    return Ok(Async::NotReady);
                }
            };
            let request = match head.extend(&chunk[..count], Inbound::decode) {
                Ok(None) => continue,
                Ok(Some(request)) => Ok(request),
                Err(why) => Err(why),
            };
            return Ok(Async::Ready((
                Rewind::new(client, head.into_rest()),
                request,
            )));
        }
    }
}
