//! Replies to clients of either version, and the reasons of those that reject one.

use std::error;
use std::fmt;

use super::super::{atyp, method, reply_4, LOGIN_VERSION, VERSION};
use super::{status, v4_messages as v4};
use crate::auth::LoginFault;

/// The reply to a request: `REP` of SOCKS5 (RFC 1928 §6). SOCKS4 has one code for every failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SocksReply {
    /// The tunnel is open.
    Succeeded = 0,
    /// A general failure.
    Failed = 1,
    /// A rule of ptunnel or of a proxy forbids the destination.
    NotAllowed = 2,
    /// The network is unreachable.
    NetworkUnreachable = 3,
    /// The host is unreachable, or its name unknown.
    HostUnreachable = 4,
    /// The destination refused the connection.
    Refused = 5,
    /// The connection took too long ("TTL expired").
    TimedOut = 6,
    /// The command isn't CONNECT.
    UnknownCommand = 7,
    /// The address type is unknown.
    UnknownAddress = 8,
}

impl SocksReply {
    /// Returns the reply to the client for a `REP` of a proxy: the same if it is about the
    /// destination, [`Failed`](SocksReply::Failed) if it is about ptunnel's request.
    pub fn passed_on(code: u8) -> SocksReply {
        match code {
            2 => SocksReply::NotAllowed,
            3 => SocksReply::NetworkUnreachable,
            4 => SocksReply::HostUnreachable,
            5 => SocksReply::Refused,
            6 => SocksReply::TimedOut,
            _ => SocksReply::Failed,
        }
    }

    /// Encodes the reply in SOCKS5. Its address is 0.0.0.0:0: that of the proxy's connection to the
    /// destination is unknown.
    pub fn encode(self) -> Vec<u8> {
        let unspecified = [0; 6];
        [&[VERSION, self as u8, 0, atyp::IPV4][..], &unspecified].concat()
    }

    /// Encodes the reply in SOCKS4, with the address 0.0.0.0:0. Never uses the codes about identd,
    /// which ptunnel doesn't query.
    pub fn encode_4(self) -> Vec<u8> {
        let mut reply = vec![0; reply_4::LENGTH];
        reply[0] = reply_4::VERSION;
        reply[1] = match self {
            SocksReply::Succeeded => reply_4::GRANTED,
            _ => reply_4::REJECTED,
        };
        reply
    }
}

/// Why a client can't be served. Displays as the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocksRejection {
    /// The client must have a password, which SOCKS4 can't send.
    Password,
    /// The SOCKS4 user id has more than 255 bytes.
    UserId,
    /// The destination's name in the SOCKS4 request has more than 255 bytes.
    Name,
    /// The SOCKS5 client doesn't offer this method, the only one that ptunnel accepts.
    Method(u8),
    /// The SOCKS5 login has this version instead of 1.
    LoginVersion(u8),
    /// The SOCKS5 login is refused.
    Login(LoginFault),
    /// The SOCKS5 request has this version instead of 5.
    Version(u8),
    /// The destination in the SOCKS5 request has this unknown address type.
    AddressType(u8),
    /// The request has another command than CONNECT.
    Command {
        /// The version of SOCKS: 4 or 5.
        version: u8,
        /// The command.
        code: u8,
    },
    /// The destination is invalid.
    Destination {
        /// The version of SOCKS: 4 or 5.
        version: u8,
        /// The reason.
        why: String,
    },
}

impl SocksRejection {
    /// Encodes the reply to the client.
    pub fn reply(&self) -> Vec<u8> {
        match self {
            SocksRejection::Method(_) => vec![VERSION, method::NO_ACCEPTABLE],
            SocksRejection::LoginVersion(_) | SocksRejection::Login(_) => {
                vec![LOGIN_VERSION, status::FAILURE]
            }
            SocksRejection::Command {
                version: VERSION, ..
            } => SocksReply::UnknownCommand.encode(),
            SocksRejection::AddressType(_) => SocksReply::UnknownAddress.encode(),
            SocksRejection::Version(_)
            | SocksRejection::Destination {
                version: VERSION, ..
            } => SocksReply::Failed.encode(),
            _ => SocksReply::Failed.encode_4(),
        }
    }
}

impl fmt::Display for SocksRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocksRejection::Password => f.write_str(
                "SOCKS4 has no password, which this listener requires; use SOCKS5 or HTTP",
            ),
            SocksRejection::UserId => {
                write!(f, "the SOCKS4 user ID has more than {} bytes", v4::MAX_TEXT)
            }
            SocksRejection::Name => write!(
                f,
                "the name in the SOCKS4 request has more than {} bytes",
                v4::MAX_TEXT
            ),
            SocksRejection::Method(method::LOGIN) => {
                f.write_str("the SOCKS5 client offers no username and password")
            }
            SocksRejection::Method(_) => {
                f.write_str("the SOCKS5 client doesn't offer to go without authentication")
            }
            SocksRejection::LoginVersion(version) => {
                write!(f, "the SOCKS5 login has version {}", version)
            }
            SocksRejection::Login(fault) => f.write_str(
                fault
                    .reason()
                    .unwrap_or("the username or the password of the SOCKS5 login is wrong"),
            ),
            SocksRejection::Version(version) => {
                write!(f, "the SOCKS5 request has version {}", version)
            }
            SocksRejection::AddressType(code) => {
                write!(f, "unknown SOCKS5 address type {}", code)
            }
            SocksRejection::Command { version, code: 2 } => {
                write!(f, "SOCKS{} BIND isn't supported, only CONNECT", version)
            }
            SocksRejection::Command {
                version: VERSION,
                code: 3,
            } => f.write_str("SOCKS5 UDP ASSOCIATE isn't supported, only CONNECT"),
            SocksRejection::Command { version, code } => {
                write!(f, "unknown SOCKS{} command {}", version, code)
            }
            SocksRejection::Destination { why, .. } => f.write_str(why),
        }
    }
}

impl error::Error for SocksRejection {}
