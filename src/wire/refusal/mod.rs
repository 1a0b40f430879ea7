//! A proxy that says no, in whichever protocol.

mod http;
mod socks;

use std::fmt;

pub use self::http::HttpRefusal;
pub use self::socks::SocksRefusal;

pub(super) use self::http::Attempt;

/// A proxy's no, as it said it; displays as the reason, and what to try where the proxy's own words
/// tell. Where it is about our user, [`remedy`](Refusal::remedy) says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A reply with any status but a 2xx.
    Http(HttpRefusal),
    /// A SOCKS proxy's no to us, or to what we asked for.
    Socks(SocksRefusal),
}

/// What helps with a proxy that wants to know who we are, and that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
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
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Refusal::Http(refusal) => refusal.remedy(),
            Refusal::Socks(refusal) => refusal.remedy(),
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
