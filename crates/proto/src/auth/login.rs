//! The check of a client's username and password, in whichever protocol it sends them.

use std::fmt;

use super::is_same;
use crate::values::Credentials;

/// Checks the username and the password of one client.
pub trait LoginCheck: fmt::Debug + Send + Sync {
    /// Returns whether the client may connect. After [`Verdict::Pending`] the caller asks again with
    /// the same arguments.
    fn check(&self, user: &[u8], password: &[u8]) -> Verdict;
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The username and the password are right.
    Accepted,
    /// The password is still being checked.
    Pending,
    /// The client is refused.
    Refused(LoginFault),
}

/// Why a username and a password are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFault {
    /// One of them is wrong.
    Wrong,
    /// The client's address has sent too many wrong ones lately; this one wasn't checked.
    Throttled,
    /// Too many passwords are being checked; this one wasn't checked.
    Busy,
}

impl LoginCheck for Credentials {
    fn check(&self, user: &[u8], password: &[u8]) -> Verdict {
        // Compares both, so that the time doesn't show which of them is wrong.
        let is_user = is_same(user, self.user().as_bytes());
        let is_password = is_same(password, self.password().reveal().as_bytes());
        match is_user && is_password {
            true => Verdict::Accepted,
            false => Verdict::Refused(LoginFault::Wrong),
        }
    }
}

impl LoginFault {
    /// Returns the reason where the client may try again later.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            LoginFault::Wrong => None,
            LoginFault::Throttled => {
                Some("too many wrong passwords from this address; try again in a minute")
            }
            LoginFault::Busy => Some("too many passwords are being checked; try again"),
        }
    }
}
