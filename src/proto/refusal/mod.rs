//! A proxy that says no, in whichever protocol.

mod http;
mod socks;
mod squid;

use std::fmt;
use std::time::Duration;

pub use self::http::HttpRefusal;
pub use self::socks::SocksRefusal;

pub(super) use self::http::Attempt;

use crate::config::Scheme;

/// A proxy's no, as it said it; displays as the reason, and what to try where the proxy's own words
/// tell. Where it is about our user, [`hint`](Refusal::hint) says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A reply with any status but a 2xx.
    Http(HttpRefusal),
    /// A SOCKS proxy's no to us, or to what we asked for.
    Socks(SocksRefusal),
}

/// What helps with a proxy that wants to know who we are, and that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nobody was named: to give it a user and a password.
    Give,
    /// To check those that it refused.
    Check,
    /// To give it the user as whom we run, which it has asked identd for.
    Own,
}

impl Refusal {
    /// The status of HTTP that says it.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::Http(refusal) => refusal.status(),
            Refusal::Socks(refusal) => refusal.status(),
        }
    }

    /// What to do about it, where that is for our user to say.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Refusal::Http(refusal) => refusal.hint(),
            Refusal::Socks(refusal) => refusal.hint(),
        }
    }

    /// The scheme to try alone, where the proxy refused a weaker one that it offers too.
    pub(crate) fn other_scheme(&self) -> Option<Scheme> {
        match self {
            Refusal::Http(refusal) => refusal.other_scheme(),
            Refusal::Socks(_) => None,
        }
    }

    /// Whether its text says what to do.
    pub(crate) fn is_advised(&self) -> bool {
        match self {
            Refusal::Http(_) => false,
            Refusal::Socks(refusal) => refusal.is_advised(),
        }
    }

    /// Whether it is about who we are, so that other credentials may help.
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

/// Why a password wasn't sent, and for how much longer it won't be.
struct Withheld(Duration);

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it refused the password before, so ptunnel doesn't send it for another {} s, lest the \
             account be locked; a reload (SIGHUP) ends that",
            self.0.as_secs() + 1
        )
    }
}
