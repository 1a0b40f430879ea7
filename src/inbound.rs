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
use tokio_io::io as aio;
use tokio_io::{AsyncRead, AsyncWrite};

use crate::io::{poll_io, Rewind, Socket, Upstream};
use crate::limits::deadline;
use crate::reject::reject;
use crate::timer::TaskCountdown;
use crate::tls::accept;
use crate::{abort_on_reset, boxed, forwarding, logged_as, poll_with, Engine, Opened, TaskTimer};
use ptunnel_core::error::Error;
use ptunnel_core::inbound::{ConnectRequest, Inbound, InboundHandshake, Rejection};
use ptunnel_core::observe::access_log::ClientSession;
use ptunnel_core::os::sys::ReservedFd;
use ptunnel_proto::Step;

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
    let open = logged_as(session.context(), || engine.open(&tunnel).then(Ok));
    abort_on_reset(client, open).and_then(move |outcome| match outcome {
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
                        let destination = request.destination;
                        Either::A(match Upstream::bare(client) {
                            Ok(client) => {
                                Either::A(engine.carry_opened(client, opened, session, destination))
                            }
                            Err(client) => Either::B(boxed(engine.carry_opened(
                                client,
                                opened,
                                session,
                                destination,
                            ))),
                        })
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
        limit.map_or(false, |limit| {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::io::tests::mock_io::{drive, Action, MockStream};
    use ptunnel_core::config::Route;
    use ptunnel_core::inbound::{DynamicConfig, Logins};
    use ptunnel_core::upstream::ProxySelector;
    use ptunnel_proto::values::Users;

    const GREETING: &[u8] = &[5, 1, 0];
    const REQUEST: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x00\x16";

    /// Runs the handshake with a client that sends what `stream` contains.
    fn handshake(
        stream: MockStream,
    ) -> Result<(Rewind<MockStream>, Result<ConnectRequest, Rejection>), Error> {
        let timer = TaskTimer::new(Duration::from_millis(100));
        drive(read_handshake(stream, InboundHandshake::default(), &timer))
    }

    #[test]
    fn a_request_can_arrive_byte_by_byte() {
        let all = [GREETING, REQUEST].concat();
        let stream = MockStream::saying(all.iter().map(|byte| [*byte]));
        let seen = stream.seen();
        let (client, request) = handshake(stream).unwrap();
        assert_eq!(request.unwrap().destination.to_string(), "example.org:22");
        assert_eq!(client.front(), b"");
        assert_eq!(seen.borrow().written, [5, 0]);
    }

    #[test]
    fn bytes_after_the_request_are_kept() {
        let all = [GREETING, REQUEST, b"early"].concat();
        let stream = MockStream::saying(vec![all]);
        let (client, request) = handshake(stream).unwrap();
        assert_eq!(request.unwrap().destination.to_string(), "example.org:22");
        assert_eq!(client.front(), b"early");
    }

    #[test]
    fn a_partial_write_of_an_answer_is_resumed() {
        let reads = vec![
            Action::Bytes(GREETING.to_vec()),
            Action::Wait,
            Action::Bytes(REQUEST.to_vec()),
        ];
        let writes = vec![Action::Wait, Action::Take(1), Action::Wait, Action::Take(1)];
        let stream = MockStream::new(reads, writes);
        let seen = stream.seen();
        assert!(handshake(stream).unwrap().1.is_ok());
        assert_eq!(seen.borrow().written, [5, 0]);
    }

    /// The thread that checks the password wakes the task, which doesn't read meanwhile.
    #[test]
    fn a_request_waits_until_its_password_is_checked() {
        let users = "ann:$5$rounds=1000$saltsalt$KQSBs0JqCcIR0ZE8hEhJVMmdnlMXrMNuPB1RfBj4Zi5\n";
        let users = Users::read(users).unwrap();
        let dynamic = DynamicConfig::new(&ProxySelector::new(Route::default()), None);
        let dynamic = dynamic.of_users(&users, &Logins::default());
        let all = [&[5, 1, 2, 1, 3][..], b"ann\x01x", REQUEST].concat();
        let stream = MockStream::saying(vec![all]);
        let seen = stream.seen();
        let handshake = dynamic.handshake(None);
        let timer = TaskTimer::new(Duration::from_millis(100));
        let reading = read_handshake(stream, handshake, &timer);
        let (_, request) = reading.wait().unwrap();
        let error = request.unwrap_err().error.to_string();
        assert!(error.contains("login is wrong"), "{}", error);
        assert_eq!(seen.borrow().written, [5, 2]);
    }

    #[test]
    fn a_client_that_ends_without_a_request_has_left() {
        let half = [GREETING, &REQUEST[..7]].concat();
        for said in &[&b""[..], GREETING, &half, b"CONNECT a:1 HTTP/1.1\r\n"] {
            let stream = MockStream::saying(vec![said]);
            let error = handshake(stream).map(drop).unwrap_err();
            assert!(error.is_departure(), "{}", error);
        }
    }
}
