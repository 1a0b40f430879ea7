//! A SOCKS proxy that says no: to us, or to what we asked for.

use std::fmt;
use std::time::Duration;

use super::super::socks::reply_4;
use super::{Hint, Withheld};

/// Which of SOCKS5's three messages said no (RFC 1928 §3 and §6, RFC 1929 §2), or SOCKS4's only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksRefusal {
    /// None of the ways to say who we are that were offered will do.
    Methods {
        /// Whether a user and a password were among them.
        named: bool,
    },
    /// The user and the password aren't right.
    Credentials,
    /// They aren't sent for so much longer, since the proxy refused them before.
    Withheld(Duration),
    /// The destination is not to be had, for the reason with this code.
    Reply {
        /// `REP`; never 0.
        code: u8,
        /// Whether the destination was asked for by its name.
        by_name: bool,
    },
    /// SOCKS4 has one no for everything, with this code for the reason.
    Reply4 {
        /// `CD`; never 90.
        code: u8,
        /// Whether the destination was asked for by its name.
        by_name: bool,
    },
}

impl SocksRefusal {
    /// The status of HTTP that says it.
    pub fn status(&self) -> u16 {
        match *self {
            _ if self.wants_credentials() => 407,
            SocksRefusal::Reply { code: 2, .. } => 403,
            SocksRefusal::Reply { code: 6, .. } => 504,
            _ => 502,
        }
    }

    /// What to do about it, where that is for our user to say.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            SocksRefusal::Methods { named: false } => Some(Hint::Give),
            SocksRefusal::Credentials | SocksRefusal::Withheld(_) => Some(Hint::Check),
            SocksRefusal::Reply4 { code, .. } if *code == reply_4::OTHER_USER => Some(Hint::Own),
            _ => None,
        }
    }

    /// Whether its text says what to do.
    pub(super) fn is_advised(&self) -> bool {
        match *self {
            SocksRefusal::Reply { code, by_name } => code == ADDRESS_TYPE && by_name,
            SocksRefusal::Reply4 { code, .. } => {
                matches!(code, reply_4::NO_IDENTD | reply_4::OTHER_USER)
            }
            SocksRefusal::Methods { .. }
            | SocksRefusal::Credentials
            | SocksRefusal::Withheld(_) => false,
        }
    }

    /// Whether it is about who we are, so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        match *self {
            SocksRefusal::Methods { .. }
            | SocksRefusal::Credentials
            | SocksRefusal::Withheld(_) => true,
            SocksRefusal::Reply { .. } => false,
            SocksRefusal::Reply4 { code, .. } => code == reply_4::OTHER_USER,
        }
    }
}

impl fmt::Display for SocksRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SocksRefusal::Methods { named: false } => f.write_str("it wants credentials"),
            SocksRefusal::Methods { named: true } => f.write_str(
                "it wants credentials of another kind: only a user and a password are supported",
            ),
            SocksRefusal::Credentials => f.write_str("it doesn't take the credentials"),
            SocksRefusal::Withheld(left) => Withheld(left).fmt(f),
            SocksRefusal::Reply { code, by_name } => {
                write_reply(f, code, reason(code))?;
                match code {
                    ADDRESS_TYPE if by_name => {
                        f.write_str(": it resolves no names, socks5:// has them resolved here")
                    }
                    _ => Ok(()),
                }
            }
            SocksRefusal::Reply4 { code, by_name } => {
                write_reply(f, code, reason_4(code))?;
                match code {
                    reply_4::REJECTED if by_name => {
                        f.write_str(": if it resolves no names, socks4:// has them resolved here")
                    }
                    reply_4::NO_IDENTD => f.write_str(
                        ": have one run here that says whose connection it is (RFC 1413), or the \
                         proxy do without",
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
        None => write!(f, "SOCKS reply {}, of no known meaning", code),
    }
}

const ADDRESS_TYPE: u8 = 8;

/// In the words of RFC 1928 §6.
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

fn reason_4(code: u8) -> Option<&'static str> {
    Some(match code {
        reply_4::REJECTED => "request rejected or failed",
        reply_4::NO_IDENTD => "it reaches no identd on this machine",
        reply_4::OTHER_USER => "identd on this machine names another user",
        _ => return None,
    })
}
