//! Clients that name their destination themselves (`-D`): a handshake in front of the chain.
//!
//! ```text
//!   handshake ──▶ opening, as for a tunnel ──▶ our answer, if any ──▶ relay
//!       └───────────────┴──▶ no, in the client's own language, and the end
//! ```

use std::io;

use futures::future::{self, Either};
use futures::{try_ready, Async, Future, Poll};
use tokio_io::io as aio;
use tokio_io::{AsyncRead, AsyncWrite};

use super::limits::Deadline;
use super::{AbortOnReset, Engine};
use crate::engine::io::{poll_io, Rewind, Socket};
use crate::error::Error;
use crate::inbound::{ConnectRequest, DynamicConfig, Handshake, Rejection, Step};
use crate::observe::access_log::ClientSession;
use crate::os::sys::ReservedFd;

/// What one read asks for: most requests come in one.
const CHUNK: usize = 2 * 1024;

impl Engine {
    /// Serves one client, which belongs to the future, with a descriptor put aside for its way:
    /// until it has said where to, others who come would take the last.
    ///
    /// Fails with what the client was told, or why it couldn't be told anything.
    pub(super) fn serve_dynamic(
        &self,
        spare: Option<ReservedFd>,
        client: Socket,
        visit: ClientSession,
        guests: &DynamicConfig,
    ) -> impl Future<Item = (), Error = Error> {
        let (engine, guests) = (self.clone(), guests.clone());
        let limit = engine.settings().timeouts.handshake;
        let hear = ReadHandshake::new(client, guests.handshake());
        let late = || Error::denied("no request within the handshake timeout");
        let heard = Deadline::new(hear, limit, engine.clock(), late);
        heard.and_then(move |(client, request)| {
            drop(spare);
            match request {
                Ok(asked) => Either::A(open(client, asked, &guests, visit, engine)),
                Err(Rejection { reply, why }) => {
                    Either::B(engine.tell(client, reply, Error::denied(why)))
                }
            }
        })
    }
}

/// Connects the client to its destination, or tells it why not. A client that is reset while it
/// waits ends the opening; that is no error.
fn open(
    client: Rewind<Socket>,
    asked: ConnectRequest,
    guests: &DynamicConfig,
    visit: ClientSession,
    engine: Engine,
) -> impl Future<Item = (), Error = Error> {
    let ConnectRequest {
        destination,
        language,
    } = asked;
    let tunnel = guests.tunnel(destination.clone());
    // No answer of it is an error: the client shall be told.
    let opening = AbortOnReset::new(client, visit.context(), || engine.open(&tunnel).then(Ok));
    opening.and_then(move |outcome| match outcome {
        Ok((client, Ok(opened))) => Either::A(
            aio::write_all(client, language.granted())
                .then(move |answered| match answered {
                    Ok((client, _)) => {
                        let opened = opened.for_one(language.passage());
                        Either::A(engine.carry_opened(client, opened, visit, destination))
                    }
                    Err(e) => {
                        let error = Error::other("cannot answer", e).to(destination);
                        Either::B(future::err(error))
                    }
                })
                .map(drop),
        ),
        Ok((client, Err(error))) => Either::B(Either::A(engine.tell(
            client,
            language.failed(&error),
            error,
        ))),
        Err(e) => {
            visit.left(&destination, e);
            Either::B(Either::B(future::ok(())))
        }
    })
}

/// Hears a client out; resolves to what it wants, and the client with what came behind.
struct ReadHandshake<S> {
    state: Option<Hearing<S>>,
}

struct Hearing<S> {
    client: S,
    handshake: Handshake,
    /// What is still to be sent.
    answer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite> ReadHandshake<S> {
    fn new(client: S, handshake: Handshake) -> ReadHandshake<S> {
        ReadHandshake {
            state: Some(Hearing {
                client,
                handshake,
                answer: Vec::new(),
            }),
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Future for ReadHandshake<S> {
    type Item = (Rewind<S>, Result<ConnectRequest, Rejection>);
    type Error = Error;

    fn poll(&mut self) -> Poll<Self::Item, Error> {
        let mut hearing = self.state.take().expect("Hear polled after it was done");
        match hearing.poll()? {
            Async::Ready(request) => {
                let client = Rewind::new(hearing.client, hearing.handshake.into_rest());
                Ok(Async::Ready((client, request)))
            }
            Async::NotReady => {
                self.state = Some(hearing);
                Ok(Async::NotReady)
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Hearing<S> {
    fn poll(&mut self) -> Poll<Result<ConnectRequest, Rejection>, Error> {
        loop {
            let step = if self.answer.is_empty() {
                try_ready!(self.poll_read())
            } else {
                try_ready!(self
                    .poll_send()
                    .map_err(|e| Error::other("cannot answer", e)));
                self.handshake.feed(&[])
            };
            match step {
                Step::Read => {}
                Step::Send(answer) => self.answer = answer,
                Step::ConnectRequest(asked) => return Ok(Async::Ready(Ok(asked))),
                Step::Rejection(denied) => return Ok(Async::Ready(Err(denied))),
            }
        }
    }

    fn poll_read(&mut self) -> Poll<Step, Error> {
        let mut chunk = [0; CHUNK];
        let read = poll_io(self.client.read(&mut chunk));
        match try_ready!(read.map_err(|e| Error::left(Some(e)))) {
            0 => Err(Error::left(None)),
            count => Ok(Async::Ready(self.handshake.feed(&chunk[..count]))),
        }
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
    use super::*;
    use crate::engine::io::mock_io::{drive, Script, Step as Wire};

    const GREETING: &[u8] = &[5, 1, 0];
    const REQUEST: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x00\x16";

    fn hear(stream: Script) -> ReadHandshake<Script> {
        ReadHandshake::new(stream, Handshake::default())
    }

    #[test]
    fn a_client_may_speak_byte_by_byte() {
        let all = [GREETING, REQUEST].concat();
        let stream = Script::saying(all.iter().map(|byte| [*byte]));
        let seen = stream.seen();
        let (client, request) = drive(hear(stream)).unwrap();
        assert_eq!(request.unwrap().destination.to_string(), "example.org:22");
        assert_eq!(client.front(), b"");
        assert_eq!(seen.borrow().written, [5, 0]);
    }

    #[test]
    fn a_client_may_say_all_at_once_and_what_follows_is_kept() {
        let all = [GREETING, REQUEST, b"early"].concat();
        let stream = Script::saying(vec![all]);
        let (client, request) = drive(hear(stream)).unwrap();
        assert_eq!(request.unwrap().destination.to_string(), "example.org:22");
        assert_eq!(client.front(), b"early");
    }

    #[test]
    fn an_answer_is_resumed_where_it_stopped() {
        let reads = vec![
            Wire::Bytes(GREETING.to_vec()),
            Wire::Wait,
            Wire::Bytes(REQUEST.to_vec()),
        ];
        let writes = vec![Wire::Wait, Wire::Take(1), Wire::Wait, Wire::Take(1)];
        let stream = Script::new(reads, writes);
        let seen = stream.seen();
        assert!(drive(hear(stream)).unwrap().1.is_ok());
        assert_eq!(seen.borrow().written, [5, 0]);
    }

    #[test]
    fn a_client_that_ends_without_a_request_has_left() {
        let half = [GREETING, &REQUEST[..7]].concat();
        for said in &[&b""[..], GREETING, &half, b"CONNECT a:1 HTTP/1.1\r\n"] {
            let stream = Script::saying(vec![said]);
            let error = drive(hear(stream)).map(drop).unwrap_err();
            assert!(error.is_departure(), "{}", error);
        }
    }
}
