//! SOCKS5 (RFC 1928), without authentication, or with a username and a password (RFC 1929).
//!
//! ```text
//!   greeting ──▶ 05 00 ──────────────────────▶ request ──▶ the destination, and finally
//!      │ └─────▶ 05 02 ──▶ login ──▶ 01 00 ──────▲ │        a Socks5Reply
//!      └──▶ 05 FF            └──▶ 01 01            └──▶ 05 07, 05 08, 05 01
//! ```

use std::convert::TryFrom;
use std::error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::super::{atyp, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{destination, named};
use crate::config::{Credentials, Host, HostPort};
use crate::proto::auth::is_same;
use crate::proto::Decoded;

/// `STATUS` of a reply to a login (RFC 1929 §2).
mod status {
    pub(super) const SUCCESS: u8 = 0;
    pub(super) const FAILURE: u8 = 1;
}

/// `REP` of a reply to a request (RFC 1928 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Socks5Reply {
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

impl Socks5Reply {
    /// Returns the reply to the client for a `REP` of a proxy: the same if it is about the
    /// destination, [`Failed`](Socks5Reply::Failed) if it is about ptunnel's request.
    pub fn passed_on(code: u8) -> Socks5Reply {
        match code {
            2 => Socks5Reply::NotAllowed,
            3 => Socks5Reply::NetworkUnreachable,
            4 => Socks5Reply::HostUnreachable,
            5 => Socks5Reply::Refused,
            6 => Socks5Reply::TimedOut,
            _ => Socks5Reply::Failed,
        }
    }

    /// Encodes the reply. Its address is 0.0.0.0:0: that of the proxy's connection to the destination
    /// is unknown.
    pub fn encode(self) -> Vec<u8> {
        let unspecified = [0; 6];
        [&[VERSION, self as u8, 0, atyp::IPV4][..], &unspecified].concat()
    }
}

/// Why a client can't be served. Displays as the reason, with the client as its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Rejection {
    /// The request has this version instead of 5.
    Version(u8),
    /// The client doesn't offer this method, the only one that is accepted.
    Method(u8),
    /// The login has this version instead of 1.
    LoginVersion(u8),
    /// The username or the password is wrong.
    Login,
    /// The request has this command instead of CONNECT.
    Command(u8),
    /// The destination has this unknown address type.
    AddressType(u8),
    /// The destination is invalid, for this reason.
    Destination(String),
}

impl Socks5Rejection {
    /// Encodes the reply to the client.
    pub fn reply(&self) -> Vec<u8> {
        let reply = match self {
            Socks5Rejection::Method(_) => return vec![VERSION, method::NO_ACCEPTABLE],
            Socks5Rejection::LoginVersion(_) | Socks5Rejection::Login => {
                return vec![LOGIN_VERSION, status::FAILURE]
            }
            Socks5Rejection::Command(_) => Socks5Reply::UnknownCommand,
            Socks5Rejection::AddressType(_) => Socks5Reply::UnknownAddress,
            Socks5Rejection::Version(_) | Socks5Rejection::Destination(_) => Socks5Reply::Failed,
        };
        reply.encode()
    }
}

impl fmt::Display for Socks5Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socks5Rejection::Version(version) => {
                write!(f, "its SOCKS5 request has version {}", version)
            }
            Socks5Rejection::Method(method::LOGIN) => {
                f.write_str("its SOCKS5 greeting offers no user and password")
            }
            Socks5Rejection::Method(_) => {
                f.write_str("its SOCKS5 greeting doesn't go without authentication")
            }
            Socks5Rejection::LoginVersion(version) => {
                write!(f, "its SOCKS5 login has version {}", version)
            }
            Socks5Rejection::Login => f.write_str("its SOCKS5 login has a wrong user or password"),
            Socks5Rejection::Command(2) => f.write_str("SOCKS5's BIND isn't served, CONNECT alone"),
            Socks5Rejection::Command(3) => {
                f.write_str("SOCKS5's UDP ASSOCIATE isn't served, CONNECT alone")
            }
            Socks5Rejection::Command(code) => write!(f, "SOCKS5 has no command {}", code),
            Socks5Rejection::AddressType(code) => {
                write!(f, "SOCKS5 has no type {} of addresses", code)
            }
            Socks5Rejection::Destination(why) => f.write_str(why),
        }
    }
}

impl error::Error for Socks5Rejection {}

/// The messages of one client, up to its request.
pub struct Socks5Server {
    bytes: Vec<u8>,
    next: ClientMessage,
}

/// The next message of the client.
#[derive(Debug)]
enum ClientMessage {
    /// A greeting, from a client that must authenticate as this user, if any.
    Greeting(Option<Arc<Credentials>>),
    Login(Arc<Credentials>),
    Request,
}

impl fmt::Debug for Socks5Server {
    /// Shows the number of bytes only: they may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socks5Server")
            .field("bytes", &self.bytes.len())
            .field("next", &self.next)
            .finish()
    }
}

/// The next step of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Step {
    /// Read on, and feed what comes.
    Read,
    /// Send these bytes, and feed an empty piece.
    Send(Vec<u8>),
    /// Connect to the destination, and send a [`Socks5Reply`].
    Connect(HostPort),
}

impl Socks5Server {
    /// Returns the state before the greeting of a client that must authenticate as `user`, if any.
    pub fn new(user: Option<Arc<Credentials>>) -> Socks5Server {
        Socks5Server {
            bytes: Vec::new(),
            next: ClientMessage::Greeting(user),
        }
    }

    /// Adds bytes from the client.
    ///
    /// # Errors
    ///
    /// [`Socks5Rejection`] if the client can't be served, as early as possible.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Socks5Step, Socks5Rejection> {
        self.bytes.extend_from_slice(piece);
        let decoded = match &self.next {
            ClientMessage::Greeting(user) => {
                let (method, next) = match user {
                    None => (method::NO_AUTHENTICATION, ClientMessage::Request),
                    Some(user) => (method::LOGIN, ClientMessage::Login(user.clone())),
                };
                let answer = Socks5Step::Send(vec![VERSION, method]);
                greeting(&self.bytes, method)?.map(|()| (answer, next))
            }
            ClientMessage::Login(user) => {
                let answer = Socks5Step::Send(vec![LOGIN_VERSION, status::SUCCESS]);
                login(&self.bytes, user)?.map(|()| (answer, ClientMessage::Request))
            }
            ClientMessage::Request => {
                let connect =
                    |destination| (Socks5Step::Connect(destination), ClientMessage::Request);
                request(&self.bytes)?.map(connect)
            }
        };
        Ok(match decoded {
            Decoded::Partial => Socks5Step::Read,
            Decoded::Complete((step, next), length) => {
                self.bytes.drain(..length);
                self.next = next;
                step
            }
        })
    }

    /// Returns the bytes that followed the request.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// Decodes `05 NMETHODS METHODS`, which must hold `method` (RFC 1928 §3).
fn greeting(bytes: &[u8], method: u8) -> Result<Decoded<()>, Socks5Rejection> {
    match bytes.get(1..).and_then(counted) {
        None => Ok(Decoded::Partial),
        Some((methods, _)) if methods.contains(&method) => {
            Ok(Decoded::Complete((), 2 + methods.len()))
        }
        Some(_) => Err(Socks5Rejection::Method(method)),
    }
}

/// Decodes `01 ULEN UNAME PLEN PASSWD`, which must be the `right` ones (RFC 1929 §2).
fn login(bytes: &[u8], right: &Credentials) -> Result<Decoded<()>, Socks5Rejection> {
    match bytes.first() {
        Some(version) if *version != LOGIN_VERSION => {
            return Err(Socks5Rejection::LoginVersion(*version))
        }
        _ => {}
    }
    let named = bytes.get(1..).and_then(counted);
    let (user, password) = match named.map(|(user, rest)| (user, counted(rest))) {
        Some((user, Some((password, _)))) => (user, password),
        _ => return Ok(Decoded::Partial),
    };
    // Compares both, so that the time doesn't show which of them is wrong.
    let is_user = is_same(user, right.user().as_bytes());
    let is_password = is_same(password, right.password().reveal().as_bytes());
    if is_user && is_password {
        Ok(Decoded::Complete((), 3 + user.len() + password.len()))
    } else {
        Err(Socks5Rejection::Login)
    }
}

/// Splits the bytes after the first, which is the length of the first part.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first()?;
    let count = usize::from(*count);
    if count <= rest.len() {
        Some(rest.split_at(count))
    } else {
        None
    }
}

/// Decodes `05 01 00 ATYP ADDRESS PORT` (RFC 1928 §4).
fn request(bytes: &[u8]) -> Result<Decoded<HostPort>, Socks5Rejection> {
    match bytes {
        [version, ..] if *version != VERSION => return Err(Socks5Rejection::Version(*version)),
        [_, command, ..] if *command != CONNECT => return Err(Socks5Rejection::Command(*command)),
        _ => {}
    }
    let (kind, address) = match bytes {
        [_, _, _, kind, address @ ..] => (*kind, address),
        _ => return Ok(Decoded::Partial),
    };
    let (skipped, length) = match (kind, address.first()) {
        (atyp::IPV4, _) => (0, 4),
        (atyp::IPV6, _) => (0, 16),
        (atyp::NAME, Some(length)) => (1, usize::from(*length)),
        (atyp::NAME, None) => return Ok(Decoded::Partial),
        _ => return Err(Socks5Rejection::AddressType(kind)),
    };
    let end = skipped + length;
    let (address, port) = match (address.get(skipped..end), address.get(end..end + 2)) {
        (Some(address), Some(port)) => (address, u16::from_be_bytes([port[0], port[1]])),
        _ => return Ok(Decoded::Partial),
    };
    let destination = host(address, kind).and_then(|host| destination(host, port));
    let destination = destination.map_err(Socks5Rejection::Destination)?;
    Ok(Decoded::Complete(destination, 4 + end + 2))
}

fn host(address: &[u8], kind: u8) -> Result<Host, String> {
    let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(address).map(IpAddr::from);
    match (kind, v4, v6) {
        (atyp::IPV4, Ok(ip), _) | (atyp::IPV6, _, Ok(ip)) => Ok(Host::Ip(ip)),
        _ => named(address),
    }
}

#[cfg(test)]
mod tests;
