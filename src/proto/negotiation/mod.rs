//! A tunnel's part of the talk with one proxy: what is sent, and what a reply makes of it.

mod http;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use self::http::Http;
use super::auth::AuthCache;
use super::{Malformed, Refusal, Request, Socks4, Socks5};
use crate::config::Scheme;

/// Asks a proxy for a tunnel, in the protocol that it speaks, with as many messages as it takes to
/// say who we are.
///
/// It neither reads nor writes: who drives it sends what [`begin`](Negotiation::begin) returns,
/// feeds it what comes, and does what the [`NegotiationStep`] says. It outlives the connection when the
/// proxy wants another one. The number of messages has a limit; time is for the driver to limit.
#[derive(Debug)]
pub struct Negotiation {
    exchange: Exchange,
    /// Where to note that the proxy has said something.
    has_spoken: Option<Arc<AtomicBool>>,
}

#[derive(Debug)]
enum Exchange {
    Http(Http),
    Socks5(Socks5),
    Socks4(Socks4),
}

/// What to do next.
pub enum NegotiationStep {
    /// Read on, and feed what comes.
    Read,
    /// Write this to the same connection, then read on.
    Send(Vec<u8>),
    /// Connect anew, and begin again.
    Redial,
    /// The tunnel stands; these are the first bytes of the destination.
    Granted(Vec<u8>),
    /// There won't be one.
    Refused(Box<Refusal>),
}

/// How it is said who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// In a field of the request.
    Scheme(Scheme),
    /// In a message of its own (RFC 1929).
    Login,
    /// In the one message of SOCKS4.
    UserId,
}

impl fmt::Display for AuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthMethod::Scheme(scheme) => scheme.fmt(f),
            AuthMethod::Login => f.write_str("SOCKS5's way"),
            AuthMethod::UserId => f.write_str("SOCKS4's way"),
        }
    }
}

/// What came of one connection.
#[derive(Debug)]
pub enum Outcome<S> {
    /// The tunnel, and the stream that it is.
    Granted(S),
    /// The proxy must be asked again, on a new connection.
    Redial(Box<Negotiation>),
}

impl From<Exchange> for Negotiation {
    fn from(exchange: Exchange) -> Negotiation {
        Negotiation {
            exchange,
            has_spoken: None,
        }
    }
}

impl From<Request> for Negotiation {
    /// Takes the first answer, whatever it is.
    fn from(request: Request) -> Negotiation {
        Exchange::Http(request.into()).into()
    }
}

impl From<Socks5> for Negotiation {
    fn from(socks: Socks5) -> Negotiation {
        Exchange::Socks5(socks).into()
    }
}

impl From<Socks4> for Negotiation {
    fn from(socks: Socks4) -> Negotiation {
        Exchange::Socks4(socks).into()
    }
}

impl Negotiation {
    /// Will send `request`, and say who we are as the proxy wants it.
    pub fn new(request: Request, identity: AuthCache) -> Negotiation {
        Exchange::Http(Http::new(request, identity)).into()
    }

    /// Notes there as soon as the proxy has said anything.
    pub(crate) fn noting(self, has_spoken: Arc<AtomicBool>) -> Negotiation {
        Negotiation {
            has_spoken: Some(has_spoken),
            ..self
        }
    }

    /// What is sent first on a new connection.
    pub fn begin(&mut self) -> Vec<u8> {
        match &mut self.exchange {
            Exchange::Http(http) => http.begin(),
            Exchange::Socks5(socks) => socks.begin(),
            Exchange::Socks4(socks) => socks.begin(),
        }
    }

    /// Takes a further piece of what the proxy says.
    ///
    /// # Errors
    ///
    /// When that isn't a reply. No byte of the connection can be trusted any more.
    pub fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        if let Some(has_spoken) = self.has_spoken.take() {
            has_spoken.store(true, Ordering::Relaxed);
        }
        match &mut self.exchange {
            Exchange::Http(http) => http.feed(piece),
            Exchange::Socks5(socks) => socks.feed(piece),
            Exchange::Socks4(socks) => socks.feed(piece),
        }
    }

    /// How the message that goes next, or went last, says who we are; `None` where it doesn't, and
    /// once it was taken.
    pub fn auth_method(&self) -> Option<AuthMethod> {
        match &self.exchange {
            Exchange::Http(http) => http.scheme().map(AuthMethod::Scheme),
            Exchange::Socks5(socks) => socks.auth_method(),
            Exchange::Socks4(socks) => socks.auth_method(),
        }
    }

    /// Whether the end of the connection is a reason to connect anew rather than to give up.
    pub fn may_redial(&self) -> bool {
        match &self.exchange {
            Exchange::Http(http) => http.may_redial(),
            Exchange::Socks5(_) | Exchange::Socks4(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
