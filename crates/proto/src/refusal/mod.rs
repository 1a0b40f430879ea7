//! Refusals: why a proxy opens no tunnel, as error messages and SOCKS or HTTP replies need it.
//!
//! Holds the refusals of HTTP and SOCKS and their texts. Must not hold advice about credentials,
//! because the option for them depends on the proxy: a [`Hint`] represents that advice.
//! `--proxy-auth`, the same for every proxy, is the only option that a text names. `negotiation`
//! and `socks` make refusals; `ptunnel-core` turns them into errors, advice and replies.

mod http;
mod socks;
mod squid;

use std::fmt;
use std::time::Duration;

pub use self::http::HttpRefusal;
pub use self::socks::SocksRefusal;

pub(super) use self::http::AuthFailure;

use crate::values::Scheme;

/// A proxy's refusal of a tunnel. Displays as the reason, with advice if the protocol allows it;
/// [`hint`](Refusal::hint) is what to do if it is about credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An HTTP response with a status other than 2xx.
    Http(HttpRefusal),
    /// A SOCKS reply that refuses the client or the destination.
    Socks(SocksRefusal),
}

/// What the user can do about a proxy that requires credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Give a username and a password: there were none.
    Give,
    /// Check the username and the password: the proxy refused them.
    Check,
    /// Give the name of the user that ptunnel runs as: the proxy queries identd for it.
    Own,
}

impl Refusal {
    /// Returns the HTTP status that expresses the refusal.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::Http(refusal) => refusal.status(),
            Refusal::Socks(refusal) => refusal.status(),
        }
    }

    /// Returns what the user can do about it, if it is about credentials.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Refusal::Http(refusal) => refusal.hint(),
            Refusal::Socks(refusal) => refusal.hint(),
        }
    }

    /// Returns a scheme to allow alone: the proxy offers it and refused a weaker one.
    pub fn other_scheme(&self) -> Option<Scheme> {
        match self {
            Refusal::Http(refusal) => refusal.other_scheme(),
            Refusal::Socks(_) => None,
        }
    }

    /// Returns whether the text says what to do.
    pub fn is_advised(&self) -> bool {
        match self {
            Refusal::Http(_) => false,
            Refusal::Socks(refusal) => refusal.is_advised(),
        }
    }

    /// Returns whether it is about credentials, so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        match self {
            Refusal::Http(refusal) => refusal.wants_credentials(),
            Refusal::Socks(refusal) => refusal.wants_credentials(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Http(refusal) => refusal.fmt(f),
            Refusal::Socks(refusal) => refusal.fmt(f),
        }
    }
}

/// The message for a password that is withheld for this time.
struct Withheld(Duration);

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the proxy rejected the password before, and ptunnel doesn't send it again for {}s, so \
             that the account isn't locked; to send it now, restart ptunnel, or with --config reload \
             it (SIGHUP)",
            self.0.as_secs() + 1
        )
    }
}
