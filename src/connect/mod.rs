//! The CONNECT exchange on one connection: a [`Negotiation`], driven over a stream.
//!
//! Must not interpret replies, as `proto::negotiation` does, or open further connections, as
//! `negotiate` does, which uses this module.

use std::error;
use std::fmt;
use std::io;

use futures::{Async, Future, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::io::{poll_io, Rewind};
use ptunnel_core::error::{Error, Peer};
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_proto::values::HostPort;
use ptunnel_proto::{debug_by_name, Malformed, Negotiation, NegotiationStep, Outcome, Refusal};

/// Size of one read; most replies fit.
const CHUNK: usize = 2 * 1024;

/// Requests a tunnel from a proxy, over a connection that it takes and returns.
///
/// ```text
///   Sending ──▶ Awaiting ──2xx──▶ the stream, with the bytes that followed the head in front
///      ▲         │   ▲ │
///      │         │   └─┘ an incomplete reply
///      └─────────┤ 407 that can be answered here
///                ├── 407 that can be answered on a new connection ──▶ the negotiation
///                ├── any other status ──▶ ConnectFailure::Refused
///                └── an end before a status, a malformed or too long reply ──▶ ConnectFailure::…
/// ```
///
/// Invariant: no byte of the client is sent before the 2xx (RFC 9931).
///
/// After a failure, when the proxy wants a new connection, and when the future is dropped, the
/// connection is closed: no byte of it can be trusted any more. The future has no time limit: the
/// caller sets one.
#[must_use = "futures do nothing unless polled"]
pub struct Connect<S> {
    /// `None` when it is done.
    state: Option<ConnectState<S>>,
}

struct ConnectState<S> {
    stream: S,
    negotiation: Negotiation,
    /// The message that is being sent; empty while a reply is awaited.
    bytes: Vec<u8>,
    sent: usize,
}

// The message can contain credentials.
debug_by_name!(Connect<S>);

impl<S: AsyncRead + AsyncWrite> Connect<S> {
    /// Returns a future that sends a [`Request`](ptunnel_proto::Request) over `stream`, or continues a
    /// negotiation that was begun on another connection.
    pub fn new(stream: S, negotiation: impl Into<Negotiation>) -> Connect<S> {
        let mut negotiation = negotiation.into();
        let bytes = negotiation.begin();
        Connect {
            state: Some(ConnectState {
                stream,
                negotiation,
                bytes,
                sent: 0,
            }),
        }
    }
}

impl<S: AsyncRead + AsyncWrite> Future for Connect<S> {
    type Item = Outcome<Rewind<S>>;
    type Error = ConnectFailure;

    fn poll(&mut self) -> Poll<Outcome<Rewind<S>>, ConnectFailure> {
        const DONE: &str = "Connect polled after it was done";
        let granted = match self.state.as_mut().expect(DONE).poll() {
            Ok(Async::NotReady) => return Ok(Async::NotReady),
            Ok(Async::Ready(granted)) => Ok(granted),
            Err(failure) => Err(failure),
        };
        let ConnectState {
            stream,
            negotiation,
            ..
        } = self.state.take().expect(DONE);
        Ok(Async::Ready(match granted? {
            Some(rest) => Outcome::Granted(Rewind::new(stream, rest)),
            None => Outcome::Redial(Box::new(negotiation)),
        }))
    }
}

impl<S: AsyncRead + AsyncWrite> ConnectState<S> {
    /// Resolves to the destination's first bytes once the proxy has granted the tunnel, or to `None`
    /// when the negotiation must continue on a new connection.
    fn poll(&mut self) -> Poll<Option<Vec<u8>>, ConnectFailure> {
        loop {
            let step = match self.poll_step()? {
                Async::Ready(step) => step,
                Async::NotReady => return Ok(Async::NotReady),
            };
            match step {
                NegotiationStep::Read => {}
                NegotiationStep::Send(bytes) => {
                    observe(|| PathEvent::RequestRepeated(&self.negotiation));
                    self.bytes = bytes;
                }
                NegotiationStep::Redial => return Ok(Async::Ready(None)),
                NegotiationStep::Granted(rest) => return Ok(Async::Ready(Some(rest))),
                NegotiationStep::Refused(refusal) => return Err(ConnectFailure::Refused(refusal)),
            }
        }
    }

    /// Resolves to what follows from the next bytes, or from the end or failure of the connection.
    fn poll_step(&mut self) -> Poll<NegotiationStep, ConnectFailure> {
        let mut chunk = [0; CHUNK];
        let failure = match self.poll_turn(&mut chunk) {
            Ok(Async::NotReady) => return Ok(Async::NotReady),
            Ok(Async::Ready(0)) => ConnectFailure::Ended,
            Ok(Async::Ready(count)) => {
                return Ok(self.negotiation.feed(&chunk[..count])?.into());
            }
            Err(e) => e.into(),
        };
        self.negotiation.end().map(Async::Ready).ok_or(failure)
    }

    /// Sends the message, and resolves to the number of the bytes that are read next; to 0 at the end.
    fn poll_turn(&mut self, chunk: &mut [u8]) -> Poll<usize, io::Error> {
        while self.sent < self.bytes.len() {
            match poll_io(self.stream.write(&self.bytes[self.sent..]))? {
                Async::Ready(0) => return Ok(Async::Ready(0)),
                Async::Ready(count) => self.sent += count,
                Async::NotReady => return Ok(Async::NotReady),
            }
        }
        self.bytes = Vec::new();
        self.sent = 0;
        poll_io(self.stream.read(chunk))
    }
}

/// Why a proxy granted no tunnel.
#[derive(Debug)]
pub enum ConnectFailure {
    /// A read or write failed.
    Io(io::Error),
    /// The proxy closed the connection before its reply was complete.
    Ended,
    /// The reply is malformed.
    Malformed(Malformed),
    /// The proxy refused.
    Refused(Box<Refusal>),
}

impl ConnectFailure {
    /// Returns the error to report, with the proxy and the destination.
    pub fn at(self, proxy: Peer, destination: HostPort) -> Error {
        match self {
            ConnectFailure::Io(e) => Error::negotiation(proxy, e),
            ConnectFailure::Ended => Error::ended(proxy),
            ConnectFailure::Malformed(why) => Error::malformed(proxy, why),
            ConnectFailure::Refused(refusal) => Error::refused(proxy, destination, *refusal),
        }
    }
}

impl From<io::Error> for ConnectFailure {
    fn from(e: io::Error) -> ConnectFailure {
        ConnectFailure::Io(e)
    }
}

impl From<Malformed> for ConnectFailure {
    fn from(why: Malformed) -> ConnectFailure {
        ConnectFailure::Malformed(why)
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectFailure::Io(e) => e.fmt(f),
            ConnectFailure::Ended => {
                f.write_str("the proxy closed the connection before it replied")
            }
            ConnectFailure::Malformed(why) => why.fmt(f),
            ConnectFailure::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl error::Error for ConnectFailure {}

#[cfg(test)]
mod tests;
