//! The program's error: what ptunnel attempted, with which peer, and why it failed.
//!
//! Holds [`Error`], its text and its consequences (whether another proxy is tried, the label in
//! metrics, the exit code). It must not hold log lines, or a parser: those of
//! [`values`](ptunnel_proto::values) return a `ParseError`, which converts. The modules
//! above it, `ptunnel-cli` and the program use it.
//!
//! An [`Error`] is opaque: its methods classify it, as [`is_refusal`](Error::is_refusal). Its text
//! is in lower case without a full stop and never holds a secret; text from the network is escaped
//! before it becomes part of an error.

mod advice;
mod cause;
mod classify;
mod message;
mod peer;
#[cfg(test)]
mod tests;
mod tunnel_path;

use std::error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ptunnel_proto::values::{HostPort, ParseError};
use ptunnel_proto::{Malformed, Refusal};

pub(crate) use self::advice::{Advised, CredentialsOption};
pub use self::cause::Cause;
pub(crate) use self::cause::LEFT;
pub use self::peer::{Peer, Phase};
pub(crate) use self::tunnel_path::TunnelPath;

/// An error that keeps a tunnel from opening, ends it, or ends the program.
#[derive(Debug)]
pub struct Error {
    /// Boxed, so that futures stay small: errors are rare.
    kind: Box<Kind>,
    cause: Option<Box<dyn error::Error + Send + Sync>>,
    /// The tunnel that failed.
    path: Option<Box<TunnelPath>>,
}

#[derive(Debug)]
enum Kind {
    Usage(String),
    /// The address, and its port if it is a TCP address.
    Listen(String, Option<u16>),
    Resolve(Peer),
    Locate(Peer),
    Connect(Peer),
    Secure(Peer),
    Negotiation(Peer),
    Ended(Peer),
    Malformed(Peer),
    TimedOut(Phase, Peer, Duration),
    Refused(Peer, HostPort, Box<Refusal>),
    Rejection(String),
    Throttled(String),
    Left,
    Undecided(String, HostPort),
    RelayError(String),
    Other(String),
}

impl Error {
    /// Reports that the command line, an environment variable or a file that it names is wrong.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Kind::Usage(message.into()))
    }

    /// Reports that ptunnel can't listen on `address`.
    pub fn listen(address: impl fmt::Display, cause: io::Error) -> Error {
        Error::new(Kind::Listen(address.to_string(), None)).because(cause)
    }

    /// Reports that ptunnel can't listen on a TCP port; the text has a hint for the usual causes.
    pub(crate) fn listen_on_port(address: SocketAddr, cause: io::Error) -> Error {
        Error::new(Kind::Listen(address.to_string(), Some(address.port()))).because(cause)
    }

    /// Adds the label of the listener; leaves any other error as it is.
    pub(crate) fn listening_for(mut self, label: impl fmt::Display) -> Error {
        if let Kind::Listen(address, _) = &mut *self.kind {
            *address = format!("{} for {}", address, label);
        }
        self
    }

    /// Reports that the peer's name has no address, none of the wanted family, or only addresses to
    /// which ptunnel makes no connection.
    pub fn resolve(peer: Peer, cause: io::Error) -> Error {
        let kind = match classify::is_forbidden(&cause) {
            true => Kind::Connect(peer),
            false => Kind::Resolve(peer),
        };
        Error::new(kind).because(cause)
    }

    /// Reports that the name of a peer behind a proxy has no address. The proxy isn't involved yet.
    pub fn locate(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Locate(peer)).because(cause)
    }

    /// Reports that no address of the peer accepted a connection; `cause` is the last one's error.
    pub fn connect(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Connect(peer)).because(cause)
    }

    /// Reports that TLS with the connected peer failed. A client that ends its connection has left;
    /// otherwise it is rejected.
    pub fn secure(peer: Peer, cause: io::Error) -> Error {
        if let Peer::Client(_) = peer {
            return match cause.kind() {
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe => Error::left(Some(cause)),
                _ => Error::rejected(format!("no TLS: {}", cause)),
            };
        }
        Error::new(Kind::Secure(peer)).because(cause)
    }

    /// Reports that the connection broke before the reply was complete.
    pub fn negotiation(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Negotiation(peer)).because(cause)
    }

    /// Reports that a second connection, which the proxy required for the rest of the negotiation,
    /// failed. The proxy was reached before, so this doesn't make it unreachable.
    pub fn redial(peer: Peer, cause: Error) -> Error {
        Error::new(Kind::Negotiation(peer)).because(cause)
    }

    /// Reports that the proxy closed the connection before its reply was complete.
    pub fn ended(peer: Peer) -> Error {
        Error::new(Kind::Ended(peer))
    }

    /// Reports that the proxy's reply isn't one in its protocol, or exceeds a limit.
    pub fn malformed(peer: Peer, cause: Malformed) -> Error {
        Error::new(Kind::Malformed(peer)).because(cause)
    }

    /// Reports that `phase` took longer than `limit`.
    pub fn timed_out(phase: Phase, peer: Peer, limit: Duration) -> Error {
        Error::new(Kind::TimedOut(phase, peer, limit))
    }

    /// Reports that `phase` took longer than `limit`; `advice` is a likely reason, with its remedy.
    pub(crate) fn late(phase: Phase, peer: Peer, limit: Duration, advice: Option<&str>) -> Error {
        let advised =
            |advice: &str| io::Error::new(io::ErrorKind::TimedOut, Advised(advice.into()));
        Error {
            cause: advice.map(advised).map(Into::into),
            ..Error::timed_out(phase, peer, limit)
        }
    }

    /// Reports that a proxy which replies to others didn't reply within `limit` to a request for
    /// `target`.
    pub(crate) fn waiting(proxy: Peer, target: &HostPort, limit: Duration) -> Error {
        let why = format!(
            "it replies to others, so {} is probably filtered or slow",
            target
        );
        Error::late(Phase::Waiting, proxy, limit, Some(&why))
    }

    /// Reports that the proxy refused.
    pub fn refused(proxy: Peer, destination: HostPort, refusal: Refusal) -> Error {
        Error::new(Kind::Refused(proxy, destination, Box::new(refusal)))
    }

    /// Reports that the open tunnel to `destination` broke.
    pub fn cut(
        destination: impl fmt::Display,
        cause: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Error {
        let path = TunnelPath::to(&destination);
        let error = Error::new(Kind::RelayError(destination.to_string()));
        error.because(cause).on(path)
    }

    /// Reports that the PAC file `file` names no path to `destination`.
    pub fn undecided(
        file: impl Into<String>,
        destination: HostPort,
        cause: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Error {
        let path = TunnelPath::to(&destination);
        let error = Error::new(Kind::Undecided(file.into(), destination));
        error.because(cause).on(path)
    }

    /// Reports that ptunnel rejected its client; `reply` is its status and the reason.
    pub fn rejected(reply: impl Into<String>) -> Error {
        Error::new(Kind::Rejection(reply.into()))
    }

    /// As [`rejected`](Error::rejected), because of earlier requests, which were logged.
    pub fn throttled(reply: impl Into<String>) -> Error {
        Error::new(Kind::Throttled(reply.into()))
    }

    /// Reports that the client left before its request was complete: it closed its connection, or
    /// the connection broke with `cause`.
    pub fn left(cause: Option<io::Error>) -> Error {
        Error {
            cause: cause.map(Into::into),
            ..Error::new(Kind::Left)
        }
    }

    /// Reports that something on this machine failed; `message` describes it.
    pub fn other(message: impl Into<String>, cause: io::Error) -> Error {
        Error::new(Kind::Other(message.into())).because(cause)
    }

    fn new(kind: Kind) -> Error {
        Error {
            kind: Box::new(kind),
            cause: None,
            path: None,
        }
    }

    fn because(mut self, cause: impl Into<Box<dyn error::Error + Send + Sync>>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the destination of the tunnel that failed.
    pub fn to(self, destination: impl fmt::Display) -> Error {
        self.on(TunnelPath::to(destination))
    }

    /// Adds the path of the tunnel that failed.
    pub(crate) fn on(mut self, path: TunnelPath) -> Error {
        self.path = Some(Box::new(path));
        self
    }

    /// Returns the path of the tunnel that failed, as far as known.
    pub(crate) fn path(&self) -> Option<&TunnelPath> {
        self.path.as_deref()
    }

    /// Returns the proxy's refusal, if it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &*self.kind {
            Kind::Refused(_, _, refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns the status of an HTTP refusal by this proxy; 504 if it waited for its target for too
    /// long.
    pub(crate) fn http_status_of(&self, proxy: &Peer) -> Option<u16> {
        match &*self.kind {
            Kind::TimedOut(Phase::Waiting, peer, _) if peer == proxy => Some(504),
            Kind::Refused(peer, _, refusal) if peer == proxy => match &**refusal {
                Refusal::Http(refusal) => Some(refusal.status()),
                Refusal::Socks(_) => None,
            },
            _ => None,
        }
    }

    pub(crate) fn io_cause(&self) -> Option<&io::Error> {
        error::Error::source(self)?.downcast_ref()
    }
}

impl From<ParseError> for Error {
    fn from(e: ParseError) -> Error {
        match e {
            ParseError::Invalid(message) | ParseError::TlsFile(_, message) => Error::usage(message),
            ParseError::Tls(e) => Error::other("cannot set up TLS", e),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.cause
            .as_ref()
            .map(|cause| &**cause as &(dyn error::Error + 'static))
    }
}
