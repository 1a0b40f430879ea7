//! Refusals by a SOCKS proxy, of the client or of the destination.

use std::fmt;
use std::time::Duration;

use super::super::socks::reply_4;
use super::{Hint, Withheld};

/// The reply that refused a tunnel: one of SOCKS5's three (RFC 1928 §3 and §6, RFC 1929 §2), or
/// SOCKS4's only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksRefusal {
    /// The proxy accepts none of the offered authentication methods.
    Methods {
        /// Whether username and password were offered.
        named: bool,
    },
    /// The proxy doesn't accept the username and the password.
    Credentials,
    /// The command that prints the password failed.
    NoPassword,
    /// The password is withheld for this time, because the proxy refused it before.
    Withheld(Duration),
    /// The proxy doesn't connect to the destination (SOCKS5).
    Reply {
        /// `REP` (RFC 1928 §6), not 0.
        code: u8,
        /// Whether the request named the destination, rather than its address.
        by_name: bool,
    },
    /// The proxy refused the request (SOCKS4).
    Reply4 {
        /// `CD`, not 90.
        code: u8,
        /// Whether the request named the destination, rather than its address.
        by_name: bool,
    },
}

impl SocksRefusal {
    /// Returns the HTTP status that expresses the refusal.
    pub fn status(&self) -> u16 {
        match *self {
            _ if self.wants_credentials() => 407,
            SocksRefusal::Reply { code: 2, .. } => 403,
            SocksRefusal::Reply { code: 6, .. } => 504,
            _ => 502,
        }
    }

    /// Returns what the user can do about it, if it is about credentials.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            SocksRefusal::Methods { named: false } => Some(Hint::Give),
            SocksRefusal::Credentials | SocksRefusal::Withheld(_) => Some(Hint::Check),
            SocksRefusal::Reply4 { code, .. } if *code == reply_4::OTHER_USER => Some(Hint::Own),
            _ => None,
        }
    }

    /// Returns whether the text says what to do.
    pub(super) fn is_advised(&self) -> bool {
        match *self {
            SocksRefusal::Reply { code, by_name } => code == ADDRESS_TYPE && by_name,
            SocksRefusal::Reply4 { code, .. } => {
                matches!(code, reply_4::NO_IDENTD | reply_4::OTHER_USER)
            }
            SocksRefusal::Methods { .. }
            | SocksRefusal::Credentials
            | SocksRefusal::NoPassword
            | SocksRefusal::Withheld(_) => false,
        }
    }

    /// Returns whether it is about credentials, so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        match *self {
            SocksRefusal::Methods { .. }
            | SocksRefusal::Credentials
            | SocksRefusal::NoPassword
            | SocksRefusal::Withheld(_) => true,
            SocksRefusal::Reply { .. } => false,
            SocksRefusal::Reply4 { code, .. } => code == reply_4::OTHER_USER,
        }
    }
}

impl fmt::Display for SocksRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SocksRefusal::Methods { named: false } => {
                f.write_str("the proxy requires authentication")
            }
            SocksRefusal::Methods { named: true } => f.write_str(
                "the proxy requires another authentication method; ptunnel supports only username \
                 and password",
            ),
            SocksRefusal::Credentials => {
                f.write_str("the proxy rejected the username or the password")
            }
            SocksRefusal::NoPassword => f.write_str(
                "there is no password, because its command failed or printed more than 255 bytes; \
                 see the warning about it, and run it by hand to test it",
            ),
            SocksRefusal::Withheld(left) => Withheld(left).fmt(f),
            SocksRefusal::Reply { code, by_name } => {
                write_reply(f, code, reason(code))?;
                match code {
                    ADDRESS_TYPE if by_name => f.write_str(
                        "; the proxy can't resolve names: use socks5://, so that ptunnel resolves \
                         them",
                    ),
                    _ => Ok(()),
                }
            }
            SocksRefusal::Reply4 { code, by_name } => {
                write_reply(f, code, reason_4(code))?;
                match code {
                    reply_4::REJECTED if by_name => f.write_str(
                        "; if the proxy can't resolve names, use socks4://, so that ptunnel \
                         resolves them",
                    ),
                    reply_4::NO_IDENTD => f.write_str(
                        "; run identd (RFC 1413) on this machine, or disable the check on the proxy",
                    ),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn write_reply(f: &mut fmt::Formatter<'_>, code: u8, reason: Option<&str>) -> fmt::Result {
    match reason {
        Some(reason) => write!(f, "{} (SOCKS reply {})", reason, code),
        None => write!(f, "unknown SOCKS reply {}", code),
    }
}

const ADDRESS_TYPE: u8 = 8;

/// Returns the meaning of a `REP`, in the words of RFC 1928 §6.
fn reason(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "general SOCKS server failure",
        2 => "connection not allowed by ruleset",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "command not supported",
        ADDRESS_TYPE => "address type not supported",
        _ => return None,
    })
}

/// Returns the meaning of a SOCKS4 `CD`.
fn reason_4(code: u8) -> Option<&'static str> {
    Some(match code {
        reply_4::REJECTED => "request rejected or failed",
        reply_4::NO_IDENTD => "the proxy can't reach identd on this machine",
        reply_4::OTHER_USER => "identd on this machine reports another user",
        _ => return None,
    })
}
