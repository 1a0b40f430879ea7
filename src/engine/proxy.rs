//! The other side of CONNECT: a proxy of our own, on the same engine.
//!
//! ```text
//!   reading the head ──▶ judging ──▶ dialling ──▶ 200 ──▶ relay
//!                           └───────────┴──▶ 400 403 405 407 502 503 504, and the end
//! ```
//!
//! It connects directly, to whatever the client names and the user allows.

use futures::future::{self, Either};
use futures::{Async, Future, Poll};
use tokio_io::io as aio;
use tokio_io::{AsyncRead, AsyncWrite};

use super::limits::Deadline;
use super::session::boxed;
use super::{AbortOnReset, Engine};
use crate::config::{Family, HostPort, ServeSpec};
use crate::engine::io::{poll_io, Rewind, Socket};
use crate::error::{Error, Peer};
use crate::inbound::policy::{HttpRejection, Policy, GRANTED};
use crate::observe::access_log::ClientSession;
use crate::os::sys::ReservedFd;
use crate::proto::{ConnectHead, HeadReader, Malformed, HEAD_LIMIT};
use crate::upstream::UpstreamPath;

/// What one read asks for: most requests come in one.
const CHUNK: usize = 2 * 1024;

/// The embedded proxy. Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct Proxy {
    policy: Policy,
}

impl Proxy {
    /// A proxy as `spec` has it; where it listens is for the caller to see to.
    pub fn new(spec: ServeSpec) -> Proxy {
        Policy::new(spec).into()
    }

    /// Serves one client, which belongs to the future.
    ///
    /// Fails with what the client was told, or why it couldn't be told anything.
    pub fn serve(
        &self,
        client: Socket,
        visit: impl Into<ClientSession>,
        engine: &Engine,
    ) -> impl Future<Item = (), Error = Error> {
        self.serve_with(None, client, visit.into(), engine)
    }

    /// The same, with a descriptor put aside for the destination: until the client has said which
    /// one, others who come would take the last.
    pub(super) fn serve_with(
        &self,
        spare: Option<ReservedFd>,
        client: Socket,
        visit: ClientSession,
        engine: &Engine,
    ) -> impl Future<Item = (), Error = Error> {
        let (policy, engine) = (self.policy.clone(), engine.clone());
        let limit = engine.settings().timeouts.handshake;
        let late = || Error::denied("no request within the handshake timeout");
        let asked = Deadline::new(ReadRequest::new(client), limit, engine.clock(), late);
        asked.and_then(move |(client, request)| {
            drop(spare);
            match policy.judge(request) {
                Ok(target) => {
                    let family = policy.family(&target);
                    Either::A(open(client, target, family, visit, engine))
                }
                Err(denial) => Either::B(engine.deny(client, denial)),
            }
        })
    }
}

impl From<Policy> for Proxy {
    fn from(policy: Policy) -> Proxy {
        Proxy { policy }
    }
}

/// Connects the client to its destination, or tells it why not. A client that is reset while it
/// waits ends the dialling; that is no error.
fn open(
    client: Rewind<Socket>,
    target: HostPort,
    family: Family,
    visit: ClientSession,
    engine: Engine,
) -> impl Future<Item = (), Error = Error> {
    let dial = || {
        let peer = Peer::Destination(target.clone());
        let dial = engine.dial(peer, &target, family, &engine.settings().guests);
        // No answer of it is an error: the client shall be told.
        dial.then(Ok)
    };
    let opening = AbortOnReset::new(client, visit.context(), dial);
    opening.and_then(move |outcome| match outcome {
        Ok((client, Ok(upstream))) => Either::A(
            aio::write_all(client, GRANTED)
                .then(move |answered| {
                    let client = match answered {
                        Ok((client, _)) => client,
                        Err(e) => {
                            let error = Error::other("cannot answer", e).to(target);
                            return Either::B(boxed(future::err(error)));
                        }
                    };
                    let line = visit.opened(target, UpstreamPath::DIRECTLY);
                    match line.byte_recorder() {
                        None => {
                            let relay = engine.relay(client, upstream);
                            Either::A(relay.then(|end| Ok(line.log(end))))
                        }
                        // Of other types than the usual one, whose parts shall be inlined.
                        meter => {
                            let upstream = Rewind::new(upstream, Vec::new());
                            let relay = engine.gauged_relay(client, upstream, meter);
                            Either::B(boxed(relay.then(|end| Ok(line.log(end)))))
                        }
                    }
                })
                .map(drop),
        ),
        Ok((client, Err(e))) => {
            let denial = HttpRejection::unreachable(&e).directly_to(&target);
            Either::B(Either::A(engine.deny(client, denial)))
        }
        Err(e) => {
            visit.left(&target, e);
            Either::B(Either::B(future::ok(())))
        }
    })
}

impl Engine {
    fn deny(
        &self,
        client: Rewind<Socket>,
        no: HttpRejection,
    ) -> impl Future<Item = (), Error = Error> {
        self.tell(client, no.reply(), no.into_error())
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
    type Item = (Rewind<S>, Result<ConnectHead, Malformed>);
    type Error = Error;

    fn poll(&mut self) -> Poll<Self::Item, Error> {
        let (mut client, mut head) = self
            .state
            .take()
            .expect("ReadRequest polled after it was done");
        let mut chunk = [0; CHUNK];
        loop {
            let read = poll_io(client.read(&mut chunk));
            let count = match read.map_err(|e| Error::left(Some(e)))? {
                Async::Ready(0) => return Err(Error::left(None)),
                Async::Ready(count) => count,
                Async::NotReady => {
                    self.state = Some((client, head));
                    return Ok(Async::NotReady);
                }
            };
            let request = match head.extend(&chunk[..count], ConnectHead::decode) {
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
