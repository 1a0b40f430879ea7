//! The client's side: negotiation of a tunnel with a SOCKS proxy.
//!
//! Must not hold anything that reads, writes or waits, nor the lookup of a name. `negotiation` uses
//! it.

mod v4;
mod v5;

use std::error;
use std::fmt;

pub use self::v4::Socks4;
pub use self::v5::Socks5;

use super::{reply_4, VERSION, VERSION_4};
use crate::{NegotiationStep, Refusal, SocksRefusal};

fn refused(refusal: SocksRefusal) -> NegotiationStep {
    NegotiationStep::Refused(Box::new(Refusal::Socks(refusal)))
}

/// Why a proxy's bytes aren't a SOCKS reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksError {
    /// The first byte isn't that of a reply of this version.
    Start {
        /// The version of ptunnel's message.
        version: u8,
        /// The first byte of the reply.
        byte: u8,
    },
    /// More bytes follow a reply before ptunnel's next message.
    Ahead,
    /// The reply has an address of this unknown type.
    Address(u8),
}

impl SocksError {
    /// Returns the protocol that the proxy seems to speak, and the scheme for it.
    pub(crate) fn spoken_instead(self) -> Option<&'static str> {
        match self {
            SocksError::Start { byte: b'H', .. } => Some("HTTP instead of SOCKS; use http://"),
            SocksError::Start {
                version: VERSION,
                byte: reply_4::VERSION,
            } => Some("SOCKS4 instead of SOCKS5; use socks4a://"),
            SocksError::Start {
                version: VERSION_4,
                byte: VERSION,
            } => Some("SOCKS5 instead of SOCKS4; use socks5h://"),
            _ => None,
        }
    }
}

impl fmt::Display for SocksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(instead) = self.spoken_instead() {
            return f.write_str(instead);
        }
        match *self {
            SocksError::Start { version, byte } => {
                write!(f, "not SOCKS{} (it begins with {})", version, byte)
            }
            SocksError::Ahead => f.write_str("unexpected bytes after the reply"),
            SocksError::Address(kind) => write!(f, "unknown address type {}", kind),
        }
    }
}

impl error::Error for SocksError {}

/// Helpers of both versions' tests.
#[cfg(test)]
mod test_support {
    use crate::values::{Credentials, Secret};
    use crate::{Negotiation, NegotiationStep};

    pub(super) fn credentials(login: Option<(&str, &str)>) -> Option<Credentials> {
        login.map(|(user, password)| {
            Credentials::new(user, Secret::new(password)).expect("credentials")
        })
    }

    /// Feeds a reply; returns the bytes to send, or the other step in words.
    pub(super) fn said(exchange: &mut Negotiation, reply: &[u8]) -> Result<Vec<u8>, String> {
        match exchange.feed(reply) {
            Ok(NegotiationStep::Read) => Err("read".into()),
            Ok(NegotiationStep::Send(message)) => Ok(message),
            Ok(NegotiationStep::Redial) => Err("redial".into()),
            Ok(NegotiationStep::Granted(rest)) => {
                let rest: String = rest.into_iter().map(char::from).collect();
                Err(format!("granted: {}", rest))
            }
            Ok(NegotiationStep::Refused(refusal)) => {
                let what = if refusal.wants_credentials() {
                    "us"
                } else {
                    "it"
                };
                Err(format!("refused {}: {}", what, refusal))
            }
            Err(why) => Err(format!("malformed: {}", why)),
        }
    }

    /// Returns the last step after these replies; to all but the last it is to send.
    pub(super) fn end(mut exchange: Negotiation, replies: &[&[u8]]) -> String {
        exchange.begin();
        let (last, before) = replies.split_last().unwrap();
        for reply in before {
            said(&mut exchange, reply).unwrap();
        }
        said(&mut exchange, last).unwrap_err()
    }

    /// Returns whether a reply in two pieces has the same result as in one. If the first piece ends
    /// the negotiation, the second stays in the stream.
    pub(super) fn is_cut_well(begun: impl Fn() -> Negotiation, whole: &[u8], cut: usize) -> bool {
        let at_once = said(&mut begun(), whole).unwrap_err();
        let (first, second) = whole.split_at(cut.min(whole.len()));
        let mut exchange = begun();
        let in_two = said(&mut exchange, first).unwrap_err();
        if in_two.starts_with("granted") {
            return at_once.starts_with(&in_two);
        }
        if in_two == "read" {
            return said(&mut exchange, second).unwrap_err() == at_once;
        }
        in_two == at_once
    }
}
