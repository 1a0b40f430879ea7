//! Negotiation of a tunnel with one proxy: the requests, and the meaning of the replies.
//!
//! Holds the common interface of the protocols ([`Negotiation`]) and the one of HTTP; those of
//! SOCKS are in `socks/client`. Must not hold anything that reads, writes or waits. The `upstream`
//! module of `ptunnel-core` makes negotiations; the program and the rungs of `compat/ladder` run them.

mod http;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::http::Http;
use super::auth::AuthCache;
use super::{HttpRefusal, Malformed, Refusal, Request, Socks4, Socks5};
use crate::debug_by_name;
use crate::values::{HostPort, Scheme};

/// Negotiation of a tunnel with one proxy, in the protocol that the proxy speaks and in as many
/// messages as the authentication takes.
///
/// It neither reads nor writes: the caller sends what [`begin`](Negotiation::begin) returns, feeds
/// it the bytes from the proxy, and follows each [`NegotiationStep`]. It outlives the connection if
/// the proxy requires another one. The number of messages is bounded; the caller bounds the time.
#[derive(Debug)]
pub struct Negotiation {
    negotiator: Negotiator,
    /// Set with the first byte from the proxy.
    has_spoken: Option<Arc<AtomicBool>>,
}

#[derive(Debug)]
enum Negotiator {
    Http(Http),
    Socks5(Socks5),
    Socks4(Socks4),
}

/// The next step of the caller.
pub enum NegotiationStep {
    /// Read more bytes, and feed them.
    Read,
    /// Write these bytes to the same connection, then read on.
    Send(Vec<u8>),
    /// Connect again, and begin a new exchange.
    Redial,
    /// The tunnel is open; these are the first bytes of the destination.
    Granted(Vec<u8>),
    /// The proxy opens no tunnel.
    Refused(Box<Refusal>),
}

/// The method by which ptunnel authenticates with a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// `Proxy-Authorization` in an HTTP request (RFC 9110 §11.7.2).
    Scheme(Scheme),
    /// A SOCKS5 message with username and password (RFC 1929).
    Login,
    /// The user id in a SOCKS4 request.
    UserId,
}

impl fmt::Display for AuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthMethod::Scheme(scheme) => scheme.fmt(f),
            AuthMethod::Login => f.write_str("SOCKS5 username and password"),
            AuthMethod::UserId => f.write_str("SOCKS4 user ID"),
        }
    }
}

/// The refusal with which a negotiation ends that is dropped, or fails, before it returns one:
///
/// - the rest of its head, or of the body of a challenge, takes too long;
/// - it is checked with another destination, and the check fails or takes too long.
#[derive(Clone, Default)]
pub struct StandingRefusal(Arc<Mutex<Option<HttpRefusal>>>);

// A refusal can repeat a request.
debug_by_name!(StandingRefusal);

impl StandingRefusal {
    /// Takes the refusal.
    pub fn take(&self) -> Option<HttpRefusal> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<HttpRefusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of a negotiation on one connection.
#[derive(Debug)]
pub enum Outcome<S> {
    /// The tunnel, a stream to the destination.
    Granted(S),
    /// The negotiation continues on a new connection.
    Redial(Box<Negotiation>),
}

impl From<Negotiator> for Negotiation {
    fn from(negotiator: Negotiator) -> Negotiation {
        Negotiation {
            negotiator,
            has_spoken: None,
        }
    }
}

impl From<Request> for Negotiation {
    fn from(request: Request) -> Negotiation {
        Negotiation::new(request, None)
    }
}

impl From<Socks5> for Negotiation {
    fn from(socks: Socks5) -> Negotiation {
        Negotiator::Socks5(socks).into()
    }
}

impl From<Socks4> for Negotiation {
    fn from(socks: Socks4) -> Negotiation {
        Negotiator::Socks4(socks).into()
    }
}

impl Negotiation {
    /// Sends `request` to an HTTP proxy, and authenticates if the proxy requires it. Without `auth` the
    /// first final reply decides.
    pub fn new(request: Request, auth: Option<AuthCache>) -> Negotiation {
        Negotiator::Http(Http::new(request, auth)).into()
    }

    /// Sets `has_spoken` as soon as the proxy has sent anything.
    pub fn with_has_spoken(self, has_spoken: Arc<AtomicBool>) -> Negotiation {
        Negotiation {
            has_spoken: Some(has_spoken),
            ..self
        }
    }

    /// Leaves a refusal by an HTTP proxy in `standing` if this is dropped, or fails, before it returns it.
    pub fn with_standing(mut self, standing: StandingRefusal) -> Negotiation {
        if let Negotiator::Http(http) = &mut self.negotiator {
            http.stand_in(standing);
        }
        self
    }

    /// Returns the bytes that are sent first on a new connection.
    pub fn begin(&mut self) -> Vec<u8> {
        match &mut self.negotiator {
            Negotiator::Http(http) => http.begin(),
            Negotiator::Socks5(socks) => socks.begin(),
            Negotiator::Socks4(socks) => socks.begin(),
        }
    }

    /// Takes bytes that the proxy has sent, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if they aren't a reply of the protocol, or exceed one of its limits. The
    /// connection is of no further use.
    pub fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        if let Some(has_spoken) = self.has_spoken.take() {
            has_spoken.store(true, Ordering::Relaxed);
        }
        match &mut self.negotiator {
            Negotiator::Http(http) => http.feed(piece),
            Negotiator::Socks5(socks) => socks.feed(piece),
            Negotiator::Socks4(socks) => socks.feed(piece),
        }
    }

    /// Returns the authentication in the next or the last message; `None` if there is none, or once
    /// the proxy has accepted it.
    pub fn auth_method(&self) -> Option<AuthMethod> {
        match &self.negotiator {
            Negotiator::Http(http) => http.scheme().map(AuthMethod::Scheme),
            Negotiator::Socks5(socks) => socks.auth_method(),
            Negotiator::Socks4(socks) => socks.auth_method(),
        }
    }

    /// Returns the destination with which a refusal is checked, instead of the tunnel's.
    pub fn checked_with(&self) -> Option<&HostPort> {
        match &self.negotiator {
            Negotiator::Http(http) => http.checked_with(),
            Negotiator::Socks5(_) | Negotiator::Socks4(_) => None,
        }
    }

    /// Takes the end of the connection, or its failure; returns the next step, or `None` if the proxy
    /// has not replied. A refusal is one by its status, even if the rest of its head is missing.
    pub fn end(&mut self) -> Option<NegotiationStep> {
        match &mut self.negotiator {
            Negotiator::Http(http) => http.end(),
            Negotiator::Socks5(_) | Negotiator::Socks4(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
