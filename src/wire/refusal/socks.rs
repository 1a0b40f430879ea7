//! A SOCKS5 proxy that says no: to us, or to what we asked for.

use std::fmt;

/// Which of its three messages said no (RFC 1928 §3 and §6, RFC 1929 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksRefusal {
    /// None of the ways to say who we are that were offered will do.
    Methods {
        /// Whether a user and a password were among them.
        named: bool,
    },
    /// The user and the password aren't right.
    Credentials,
    /// The destination is not to be had, for the reason with this code.
    Reply {
        /// `REP`; never 0.
        code: u8,
        /// Whether the destination was asked for by its name.
        by_name: bool,
    },
}

impl SocksRefusal {
    /// The status of HTTP that says it.
    pub fn status(&self) -> u16 {
        match *self {
            SocksRefusal::Methods { .. } | SocksRefusal::Credentials => 407,
            SocksRefusal::Reply { code: 2, .. } => 403,
            SocksRefusal::Reply { code: 6, .. } => 504,
            SocksRefusal::Reply { .. } => 502,
        }
    }

    /// Whether it is about who we are, so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        !matches!(self, SocksRefusal::Reply { .. })
    }
}

impl fmt::Display for SocksRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SocksRefusal::Methods { named: false } => {
                f.write_str("it wants credentials: give --user and the password")
            }
            SocksRefusal::Methods { named: true } => f.write_str(
                "it wants credentials of another kind: only a user and a password are supported",
            ),
            SocksRefusal::Credentials => {
                f.write_str("it doesn't take the credentials: check --user and the password")
            }
            SocksRefusal::Reply { code, by_name } => {
                match reason(code) {
                    Some(reason) => write!(f, "{} (SOCKS reply {})", reason, code)?,
                    None => write!(f, "SOCKS reply {}, of no known meaning", code)?,
                }
                match code {
                    ADDRESS_TYPE if by_name => {
                        f.write_str(": it resolves no names, socks5:// has them resolved here")
                    }
                    _ => Ok(()),
                }
            }
        }
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
