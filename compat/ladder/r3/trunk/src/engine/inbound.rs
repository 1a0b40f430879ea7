//! Clients that name their destination (`-D`, `--serve-proxy`, `--redirect`): a handshake in front of
//! the tunnel.
//!
//! ```text
//!   handshake ──▶ opening, as for a tunnel ──▶ reply, if any ──▶ relay
//!       └───────────────┴──▶ rejection, in the client's protocol ──▶ lingering close
//! ```
//!
//! [`Inbound`] provides what differs: the protocols, the policy and the replies.

use std::io;

use futures::future::{self, Either};
use futures::{task, try_ready, Async, Future, Poll};
use tokio_core_compat::task::As01;
use tokio_io::io as aio;
use tokio_io::{AsyncRead, AsyncWrite};

use super::limits::deadline;
use super::lingering_close::reject;
use super::timer::TaskCountdown;
use super::tls::accept;
use super::{abort_on_reset, forwarding, logged_as, poll_with, Engine, Opened, TaskTimer};
use crate::engine::io::{poll_io, Rewind, Socket, Upstream};
use crate::error::Error;
use crate::inbound::{ConnectRequest, Inbound, InboundHandshake, Rejection};
use crate::observe::access_log::ClientSession;
use crate::os::sys::ReservedFd;
use crate::proto::Step;

/// Size of one read; most requests fit.
const CHUNK: usize = 2 * 1024;

impl Engine {
    /// Serves a client that names its destination. The future owns the client.
    ///
    /// Fails with the reason of the rejection, or if no reply could be sent.
    pub fn serve_inbound(
        &self,
        client: Socket,
        session: impl Into<ClientSession>,
        inbound: &impl Inbound,
    ) -> impl Future<Item = (), Error = Error> {
        serve_inbound(self, None, client, session.into(), inbound)
    }
}

/// Serves a client with a descriptor that is reserved for its destination until the client has
/// named it: otherwise clients that are accepted meanwhile could take the last one.
pub(super) fn serve_inbound(
    engine: &Engine,
    reserved: Option<ReservedFd>,
    client: Socket,
    session: ClientSession,
    inbound: &impl Inbound,
) -> impl Future<Item = (), Error = Error> {
    let (engine, inbound) = (engine.clone(), inbound.clone());
    let limit = engine.settings().timeouts.handshake;
    let client = accept(client, session.peer(), inbound.tls());
    let (handshake, timer) = (inbound.handshake(session.ip()), engine.timer().clone());
    let handshake = client.and_then(move |client| read_handshake(client, handshake, &timer));
    let late = || Error::rejected("no request within the handshake timeout");
    let request = deadline(handshake, limit, engine.timer(), late);
    request.and_then(move |(client, request)| {
        drop(reserved);
        let client = client.flatten();
        match request {
            Ok(request) => Either::A(open(client, request, inbound, session, engine)),
            Err(rejection) => Either::B(reject(client, rejection, engine.timer())),
        }
    })
}

/// Opens the tunnel and relays, or rejects the client. If the client resets its connection before
/// that, the opening is dropped, which is no error.
fn open(
    client: Rewind<Upstream>,
    request: ConnectRequest,
    inbound: impl Inbound,
    session: ClientSession,
    engine: Engine,
) -> impl Future<Item = (), Error = Error> {
    let tunnel = inbound.tunnel(request.destination.clone());
    let session = session.of(request.user.clone());
    // A failure is an item here because the client gets a reply first.
    let (context, opener) = (session.context().clone(), engine.clone());
    let opening = As01::pin(async move {
        let mut client = client;
        let open = logged_as(&context, opener.open(&tunnel));
        let opened = abort_on_reset(&mut client, open).await;
        Ok(opened.map(|opened| (client, opened)))
    });
    opening.and_then(move |outcome| match outcome {
        Ok((client, Ok(opened))) => Either::A(
            aio::write_all(client, request.protocol.granted())
                .then(move |answered| match answered {
                    Ok((client, _)) => {
                        let opened = match request.protocol.request_boundary() {
                            Some(boundary) => Opened {
                                stream: forwarding(opened.stream, boundary),
                                ..opened
                            },
                            None => opened,
                        };
                        Either::A(As01::pin(async move {
                            let destination = request.destination;
                            Ok(match Upstream::bare(client) {
                                Ok(client) => {
                                    let carried =
                                        engine.carry_opened(client, opened, session, destination);
                                    carried.await
                                }
                                Err(client) => {
                                    let carried =
                                        engine.carry_opened(client, opened, session, destination);
                                    carried.await
                                }
                            })
                        }))
                    }
                    Err(e) => {
                        let error = Error::other("cannot send a reply", e).to(request.destination);
                        Either::B(future::err(error))
                    }
                })
                .map(drop),
        ),
        Ok((client, Err(error))) => {
            let rejection = inbound.failed(&request, error);
            Either::B(Either::A(reject(client, rejection, engine.timer())))
        }
        Err(e) => {
            session.left(&request.destination, e);
            Either::B(Either::B(future::ok(())))
        }
    })
}

/// Reads a client's request, and sends the replies that its protocol requires before that.
///
/// Resolves to the client, with the bytes that followed the request put back in front, and to the
/// request or its rejection.
fn read_handshake<S: AsyncRead + AsyncWrite>(
    client: S,
    handshake: InboundHandshake,
    timer: &TaskTimer,
) -> impl Future<Item = (Rewind<S>, Result<ConnectRequest, Rejection>), Error = Error> {
    let handshaking = Handshaking {
        client,
        handshake,
        answer: Vec::new(),
        timer: timer.clone(),
        silence: None,
    };
    poll_with(handshaking, Handshaking::poll).map(|(handshaking, request)| {
        let rest = handshaking.handshake.into_rest();
        (Rewind::new(handshaking.client, rest), request)
    })
}

/// Returns a function that notifies the current task, from any thread.
fn notify_current() -> Box<dyn FnOnce() + Send> {
    let task = task::current();
    Box::new(move || task.notify())
}

/// A client whose request isn't complete.
struct Handshaking<S> {
    client: S,
    handshake: InboundHandshake,
    /// Bytes still to be sent.
    answer: Vec<u8>,
    timer: TaskTimer,
    /// The time since the last byte, where it is limited.
    silence: Option<TaskCountdown>,
}

impl<S: AsyncRead + AsyncWrite> Handshaking<S> {
    fn poll(&mut self) -> Poll<Result<ConnectRequest, Rejection>, Error> {
        loop {
            let step = if self.handshake.awaits_check() {
                if self.handshake.is_checking(notify_current) {
                    return Ok(Async::NotReady);
                }
                self.handshake.feed(&[])
            } else if self.answer.is_empty() {
                try_ready!(self.poll_read())
            } else {
                try_ready!(self
                    .poll_send()
                    .map_err(|e| Error::other("cannot send a reply", e)));
                self.handshake.feed(&[])
            };
            match step {
                Ok(Step::Read) => {}
                Ok(Step::Send(answer)) => self.answer = answer,
                Ok(Step::Done(request)) => return Ok(Async::Ready(Ok(request))),
                Err(rejection) => return Ok(Async::Ready(Err(rejection))),
            }
        }
    }

    fn poll_read(&mut self) -> Poll<Result<Step<ConnectRequest>, Rejection>, Error> {
        let mut chunk = [0; CHUNK];
        let read = poll_io(self.client.read(&mut chunk));
        let count = match read.map_err(|e| Error::left(Some(e)))? {
            Async::Ready(count) => count,
            Async::NotReady if self.is_silent() => 0,
            Async::NotReady => return Ok(Async::NotReady),
        };
        self.silence = None;
        let step = match count {
            0 => {
                let request = self.handshake.end().ok_or_else(|| Error::left(None))?;
                request.map(Step::Done)
            }
            count => self.handshake.feed(&chunk[..count]),
        };
        Ok(Async::Ready(step))
    }

    /// Returns whether the client has sent nothing for as long as it may.
    fn is_silent(&mut self) -> bool {
        let (timer, silence) = (&self.timer, &mut self.silence);
        let limit = self.handshake.silence_limit();
        limit.is_some_and(|limit| {
            silence.get_or_insert_with(|| timer.start(limit)).is_over()
        })
    }

    fn poll_send(&mut self) -> Poll<(), io::Error> {
        while !self.answer.is_empty() {
            let count = try_ready!(poll_io(self.client.write(&self.answer)));
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.answer.drain(..count);
        }
        Ok(Async::Ready(()))
    }
}
