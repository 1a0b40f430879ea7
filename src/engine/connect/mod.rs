//! The CONNECT exchange over one connection: an [`Exchange`] driven by a stream.

use std::error;
use std::fmt;
use std::io;
use std::mem;

use futures::{Async, Future, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::config::HostPort;
use crate::error::{Error, Peer};
use crate::net::{poll_io, Rewind};
use crate::wire::{Exchange, Malformed, Outcome, Refusal, Step};

/// What one read asks for: most replies come in one.
const CHUNK: usize = 2 * 1024;

/// Asks a proxy for a tunnel, over a connection that it takes and hands back.
///
/// ```text
///   Sending ──▶ Awaiting ──2xx──▶ the stream, with what came behind the head in front of it
///      ▲         │   ▲ │
///      │         │   └─┘ not all of it came
///      └─────────┤ 407 that can be answered here
///                ├── 407 that can be answered on a new connection ──▶ the exchange
///                ├── any other status ──▶ Failure::Refused
///                └── an end, nonsense, too much ──▶ Failure::…
/// ```
///
/// Nothing of the client's is sent before the 2xx (RFC 9931). After a failure, when the proxy
/// wants a new connection, or when it is dropped early, the connection is closed: no byte of it
/// can be trusted any more. It has no limit in time of its own: wrap it in a
/// [`Deadline`](super::limits::Deadline).
#[must_use = "futures do nothing unless polled"]
pub struct Connect<S> {
    state: State<S>,
}

enum State<S> {
    Sending {
        stream: S,
        exchange: Exchange,
        bytes: Vec<u8>,
        sent: usize,
    },
    Awaiting {
        stream: S,
        exchange: Exchange,
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
    /// Will ask over `stream` when it is polled: a [`Request`](crate::wire::Request), or an
    /// exchange that was begun on another connection.
    pub fn new(stream: S, exchange: impl Into<Exchange>) -> Connect<S> {
        let mut exchange = exchange.into();
        let bytes = exchange.begin();
        Connect {
            state: State::Sending {
                stream,
                exchange,
                bytes,
                sent: 0,
            },
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Future for Connect<S> {
    type Item = Outcome<Rewind<S>>;
    type Error = Failure;

    fn poll(&mut self) -> Poll<Outcome<Rewind<S>>, Failure> {
        loop {
            let next = match mem::replace(&mut self.state, State::Done) {
                State::Sending {
                    mut stream,
                    exchange,
                    bytes,
                    mut sent,
                } => {
                    while sent < bytes.len() {
                        match poll_io(stream.write(&bytes[sent..])) {
                            Ok(Async::Ready(0)) => return lost(exchange, Failure::Ended),
                            Ok(Async::Ready(count)) => sent += count,
                            Ok(Async::NotReady) => {
                                self.state = State::Sending {
                                    stream,
                                    exchange,
                                    bytes,
                                    sent,
                                };
                                return Ok(Async::NotReady);
                            }
                            Err(e) => return lost(exchange, e.into()),
                        }
                    }
                    State::Awaiting { stream, exchange }
                }
                State::Awaiting {
                    mut stream,
                    mut exchange,
                } => {
                    let mut chunk = [0; CHUNK];
                    let count = match poll_io(stream.read(&mut chunk)) {
                        Ok(Async::Ready(0)) => return lost(exchange, Failure::Ended),
                        Ok(Async::Ready(count)) => count,
                        Ok(Async::NotReady) => {
                            self.state = State::Awaiting { stream, exchange };
                            return Ok(Async::NotReady);
                        }
                        Err(e) => return lost(exchange, e.into()),
                    };
                    match exchange.feed(&chunk[..count])? {
                        Step::Read => State::Awaiting { stream, exchange },
                        Step::Send(bytes) => State::Sending {
                            stream,
                            exchange,
                            bytes,
                            sent: 0,
                        },
                        Step::Redial => return redial(exchange),
                        Step::Granted(rest) => {
                            let stream = Rewind::new(stream, rest);
                            return Ok(Async::Ready(Outcome::Granted(stream)));
                        }
                        Step::Refused(refusal) => return Err(Failure::Refused(refusal)),
                    }
                }
                State::Done => panic!("Connect polled after it was done"),
            };
            self.state = next;
        }
    }
}

/// The connection is gone: that is the end, unless the proxy may be asked on another one.
fn lost<S>(exchange: Exchange, failure: Failure) -> Poll<Outcome<S>, Failure> {
    if exchange.may_redial() {
        redial(exchange)
    } else {
        Err(failure)
    }
}

fn redial<S>(exchange: Exchange) -> Poll<Outcome<S>, Failure> {
    Ok(Async::Ready(Outcome::Redial(Box::new(exchange))))
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
