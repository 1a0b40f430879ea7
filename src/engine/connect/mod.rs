//! The CONNECT exchange: one request, one reply, and everything behind the reply kept.

use std::error;
use std::fmt;
use std::io;
use std::mem;

use futures::{Async, Future, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::config::HostPort;
use crate::error::{Error, Peer};
use crate::net::{poll_io, Rewind};
use crate::wire::{HeadReader, Malformed, Refusal, Request, Response, Verdict, HEAD_LIMIT};

/// What one read asks for: most replies come in one.
const CHUNK: usize = 2 * 1024;

/// Interim replies (1xx) that are skipped before a proxy is found to be talking nonsense.
const INTERIM: u8 = 8;

/// Asks a proxy for a tunnel, over a connection that it takes and hands back.
///
/// ```text
///   Sending ──▶ Awaiting ──2xx──▶ the stream, with what came behind the head in front of it
///                │   ▲
///                │   └──1xx, a few times
///                ├── any other status ──▶ Failure::Refused
///                └── an end, nonsense, too much ──▶ Failure::…
/// ```
///
/// Nothing of the client's is sent before the 2xx (RFC 9931). After a failure, or when it is
/// dropped early, the connection is closed: no byte of it can be trusted any more. It has no
/// limit in time of its own: wrap it in a [`Deadline`](super::limits::Deadline).
#[must_use = "futures do nothing unless polled"]
pub struct Connect<S> {
    state: State<S>,
}

enum State<S> {
    Sending {
        stream: S,
        request: Vec<u8>,
        sent: usize,
    },
    Awaiting {
        stream: S,
        head: HeadReader,
        interim: u8,
    },
    Done,
}

impl<S> fmt::Debug for Connect<S> {
    /// Where it stands, not what it sends: the request may hold our credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Sending { .. } => "Connect(sending)",
            State::Awaiting { .. } => "Connect(awaiting)",
            State::Done => "Connect(done)",
        })
    }
}

impl<S: AsyncRead + AsyncWrite> Connect<S> {
    /// Will send `request` over `stream` when it is polled.
    pub fn new(stream: S, request: &Request) -> Connect<S> {
        Connect {
            state: State::Sending {
                stream,
                request: request.encode(),
                sent: 0,
            },
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Future for Connect<S> {
    type Item = Rewind<S>;
    type Error = Failure;

    fn poll(&mut self) -> Poll<Rewind<S>, Failure> {
        loop {
            let next = match mem::replace(&mut self.state, State::Done) {
                State::Sending {
                    mut stream,
                    request,
                    mut sent,
                } => {
                    while sent < request.len() {
                        match poll_io(stream.write(&request[sent..]))? {
                            Async::Ready(0) => return Err(Failure::Ended),
                            Async::Ready(count) => sent += count,
                            Async::NotReady => {
                                self.state = State::Sending {
                                    stream,
                                    request,
                                    sent,
                                };
                                return Ok(Async::NotReady);
                            }
                        }
                    }
                    State::Awaiting {
                        stream,
                        head: HeadReader::new(HEAD_LIMIT),
                        interim: 0,
                    }
                }
                State::Awaiting {
                    mut stream,
                    mut head,
                    interim,
                } => {
                    let mut chunk = [0; CHUNK];
                    let count = match poll_io(stream.read(&mut chunk))? {
                        Async::Ready(0) => return Err(Failure::Ended),
                        Async::Ready(count) => count,
                        Async::NotReady => {
                            self.state = State::Awaiting {
                                stream,
                                head,
                                interim,
                            };
                            return Ok(Async::NotReady);
                        }
                    };
                    match judge(&mut head, &chunk[..count], interim)? {
                        Judged::Wait(interim) => State::Awaiting {
                            stream,
                            head,
                            interim,
                        },
                        Judged::Granted => {
                            return Ok(Async::Ready(Rewind::new(stream, head.into_rest())))
                        }
                        Judged::Refused(response) => {
                            let refusal = Refusal::new(response, &head.into_rest());
                            return Err(Failure::Refused(Box::new(refusal)));
                        }
                    }
                }
                State::Done => panic!("Connect polled after it was done"),
            };
            self.state = next;
        }
    }
}

enum Judged {
    /// Nothing final yet; so many interim replies were skipped so far.
    Wait(u8),
    Granted,
    Refused(Response),
}

/// What a further piece of the reply makes of it.
fn judge(head: &mut HeadReader, piece: &[u8], mut interim: u8) -> Result<Judged, Malformed> {
    let mut decoded = head.extend(piece, Response::decode)?;
    while let Some(response) = decoded {
        match response.verdict()? {
            Verdict::Granted => return Ok(Judged::Granted),
            Verdict::Refused => return Ok(Judged::Refused(response)),
            Verdict::Interim if interim == INTERIM => return Err(Malformed::TooManyInterim),
            Verdict::Interim => interim += 1,
        }
        decoded = head.decode(Response::decode)?;
    }
    Ok(Judged::Wait(interim))
}

/// Why there is no tunnel.
#[derive(Debug)]
pub enum Failure {
    /// The connection broke.
    Io(io::Error),
    /// The proxy closed it before its reply was whole.
    Ended,
    /// The reply isn't one.
    Malformed(Malformed),
    /// The reply is a no.
    Refused(Box<Refusal>),
}

impl Failure {
    /// The error to show, with who was asked for what.
    pub fn at(self, proxy: Peer, destination: HostPort) -> Error {
        match self {
            Failure::Io(e) => Error::exchange(proxy, e),
            Failure::Ended => Error::ended(proxy),
            Failure::Malformed(why) => Error::malformed(proxy, why),
            Failure::Refused(refusal) => Error::refused(proxy, destination, *refusal),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::Io(e)
    }
}

impl From<Malformed> for Failure {
    fn from(why: Malformed) -> Failure {
        Failure::Malformed(why)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Io(e) => e.fmt(f),
            Failure::Ended => f.write_str("the proxy closed the connection before it replied"),
            Failure::Malformed(why) => why.fmt(f),
            Failure::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl error::Error for Failure {}

#[cfg(test)]
mod tests;
