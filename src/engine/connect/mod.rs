//! The CONNECT negotiation over one connection: an [`Negotiation`] driven by a stream.

use std::error;
use std::fmt;
use std::io;

use futures::{Async, Future, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::config::HostPort;
use crate::engine::io::{poll_io, Rewind};
use crate::error::{Error, Peer};
use crate::observe::diagnose::{observe, PathEvent};
use crate::proto::{Malformed, Negotiation, NegotiationStep, Outcome, Refusal};

/// What one read asks for: most replies come in one.
const CHUNK: usize = 2 * 1024;

/// Asks a proxy for a tunnel, over a connection that it takes and hands back.
///
/// ```text
///   Sending ──▶ Awaiting ──2xx──▶ the stream, with what came behind the head in front of it
///      ▲         │   ▲ │
///      │         │   └─┘ not all of it came
///      └─────────┤ 407 that can be answered here
///                ├── 407 that can be answered on a new connection ──▶ the negotiation
///                ├── any other status ──▶ ConnectFailure::Refused
///                └── an end, nonsense, too much ──▶ ConnectFailure::…
/// ```
///
/// Nothing of the client's is sent before the 2xx (RFC 9931). After a failure, when the proxy
/// wants a new connection, or when it is dropped early, the connection is closed: no byte of it
/// can be trusted any more. It has no limit in time of its own: wrap it in a
/// [`Deadline`](super::limits::Deadline).
#[must_use = "futures do nothing unless polled"]
pub struct Connect<S> {
    /// Until it is done.
    talk: Option<Talk<S>>,
}

struct Talk<S> {
    stream: S,
    negotiation: Negotiation,
    /// What is being sent; empty while a reply is awaited.
    bytes: Vec<u8>,
    sent: usize,
}

impl<S> fmt::Debug for Connect<S> {
    /// Where it stands, not what it sends: the request may hold our credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.talk {
            Some(talk) if talk.bytes.is_empty() => "Connect(awaiting)",
            Some(_) => "Connect(sending)",
            None => "Connect(done)",
        })
    }
}

impl<S: AsyncRead + AsyncWrite> Connect<S> {
    /// Will ask over `stream` when it is polled: a [`Request`](crate::proto::Request), or an
    /// negotiation that was begun on another connection.
    pub fn new(stream: S, negotiation: impl Into<Negotiation>) -> Connect<S> {
        let mut negotiation = negotiation.into();
        let bytes = negotiation.begin();
        Connect {
            talk: Some(Talk {
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
        let granted = match self.talk.as_mut().expect(DONE).poll() {
            Ok(Async::NotReady) => return Ok(Async::NotReady),
            Ok(Async::Ready(granted)) => Ok(granted),
            Err(failure) => Err(failure),
        };
        let Talk {
            stream,
            negotiation,
            ..
        } = self.talk.take().expect(DONE);
        Ok(Async::Ready(match granted? {
            Some(rest) => Outcome::Granted(Rewind::new(stream, rest)),
            None => Outcome::Redial(Box::new(negotiation)),
        }))
    }
}

impl<S: AsyncRead + AsyncWrite> Talk<S> {
    /// Resolves to the destination's first bytes once the proxy has granted the tunnel, or to `None`
    /// when the negotiation must continue on a new connection.
    fn poll(&mut self) -> Poll<Option<Vec<u8>>, ConnectFailure> {
        loop {
            while self.sent < self.bytes.len() {
                match poll_io(self.stream.write(&self.bytes[self.sent..])) {
                    Ok(Async::Ready(0)) => return self.lost(ConnectFailure::Ended),
                    Ok(Async::Ready(count)) => self.sent += count,
                    Ok(Async::NotReady) => return Ok(Async::NotReady),
                    Err(e) => return self.lost(e.into()),
                }
            }
            self.bytes = Vec::new();
            let mut chunk = [0; CHUNK];
            let count = match poll_io(self.stream.read(&mut chunk)) {
                Ok(Async::Ready(0)) => return self.lost(ConnectFailure::Ended),
                Ok(Async::Ready(count)) => count,
                Ok(Async::NotReady) => return Ok(Async::NotReady),
                Err(e) => return self.lost(e.into()),
            };
            match self.negotiation.feed(&chunk[..count])? {
                NegotiationStep::Read => {}
                NegotiationStep::Send(bytes) => {
                    observe(|| PathEvent::RequestRepeated(&self.negotiation));
                    self.bytes = bytes;
                    self.sent = 0;
                }
                NegotiationStep::Redial => return Ok(Async::Ready(None)),
                NegotiationStep::Granted(rest) => return Ok(Async::Ready(Some(rest))),
                NegotiationStep::Refused(refusal) => return Err(ConnectFailure::Refused(refusal)),
            }
        }
    }

    /// The connection is gone: that is the end, unless the proxy may be asked on another one.
    fn lost(&self, failure: ConnectFailure) -> Poll<Option<Vec<u8>>, ConnectFailure> {
        if self.negotiation.may_redial() {
            Ok(Async::Ready(None))
        } else {
            Err(failure)
        }
    }
}

/// Why there is no tunnel.
#[derive(Debug)]
pub enum ConnectFailure {
    /// The connection broke.
    Io(io::Error),
    /// The proxy closed it before its reply was whole.
    Ended,
    /// The reply isn't one.
    Malformed(Malformed),
    /// The reply is a no.
    Refused(Box<Refusal>),
}

impl ConnectFailure {
    /// The error to show, with who was asked for what.
    pub fn at(self, proxy: Peer, destination: HostPort) -> Error {
        match self {
            ConnectFailure::Io(e) => Error::exchange(proxy, e),
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
