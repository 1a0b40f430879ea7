//! SOCKS5, without authentication, or with a user and a password (RFC 1929).
//!
//! ```text
//!   greeting ──▶ 05 00 ──────────────────────▶ request ──▶ its destination, and in the end
//!      │ └─────▶ 05 02 ──▶ login ──▶ 01 00 ──────▲ │        a Socks5Reply
//!      └──▶ 05 FF            └──▶ 01 01            └──▶ 05 07, 05 08, 05 01
//! ```

use std::convert::TryInto;
use std::error;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::super::{atyp, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{destination, named};
use crate::config::{Credentials, Host, HostPort};
use crate::proto::auth::is_same;
use crate::proto::Decoded;

/// How a login went (RFC 1929 §2).
mod login {
    pub(super) const RIGHT: u8 = 0;
    pub(super) const WRONG: u8 = 1;
}

/// How a request went (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Socks5Reply {
    /// The destination is connected.
    Succeeded = 0,
    /// A failure that none of the others names.
    Failed = 1,
    /// Somebody's rules don't allow it.
    NotAllowed = 2,
    /// There is no way to its network.
    NetworkUnreachable = 3,
    /// There is no way to it, or nobody knows it.
    HostUnreachable = 4,
    /// It refused the connection.
    Refused = 5,
    /// It took too long.
    TimedOut = 6,
    /// It was to be something else than CONNECT.
    UnknownCommand = 7,
    /// It was named in a way that isn't known.
    UnknownAddress = 8,
}

impl Socks5Reply {
    /// What a client is told when a proxy of ours said this code: what is said of the destination,
    /// or a failure, where it is about our own request.
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

    /// The bytes of it. From which address the destination is connected nobody here knows: behind a
    /// proxy it is none of ours.
    pub fn encode(self) -> Vec<u8> {
        let unspecified = [0; 6];
        [&[VERSION, self as u8, 0, atyp::IPV4][..], &unspecified].concat()
    }
}

/// What a client says that can't be served; displays as the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Denial {
    /// Its request has another version than its greeting.
    Version(u8),
    /// This, the one way to say who it is that is taken, isn't among those that it offers.
    Method(u8),
    /// Its login has another version than there is.
    LoginVersion(u8),
    /// It is another user than is wanted, or has another password.
    Login,
    /// It asks for something else than CONNECT.
    Command(u8),
    /// It names its destination in a way that isn't known.
    AddressType(u8),
    /// What it names can't be one.
    Destination(String),
}

impl Socks5Denial {
    /// What it is told.
    pub fn reply(&self) -> Vec<u8> {
        let reply = match self {
            Socks5Denial::Method(_) => return vec![VERSION, method::NO_ACCEPTABLE],
            Socks5Denial::LoginVersion(_) | Socks5Denial::Login => {
                return vec![LOGIN_VERSION, login::WRONG]
            }
            Socks5Denial::Command(_) => Socks5Reply::UnknownCommand,
            Socks5Denial::AddressType(_) => Socks5Reply::UnknownAddress,
            Socks5Denial::Version(_) | Socks5Denial::Destination(_) => Socks5Reply::Failed,
        };
        reply.encode()
    }
}

impl fmt::Display for Socks5Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socks5Denial::Version(version) => {
                write!(f, "its SOCKS5 request has version {}", version)
            }
            Socks5Denial::Method(method::LOGIN) => {
                f.write_str("its SOCKS5 greeting offers no user and password")
            }
            Socks5Denial::Method(_) => {
                f.write_str("its SOCKS5 greeting doesn't go without authentication")
            }
            Socks5Denial::LoginVersion(version) => {
                write!(f, "its SOCKS5 login has version {}", version)
            }
            Socks5Denial::Login => f.write_str("its SOCKS5 login has a wrong user or password"),
            Socks5Denial::Command(2) => f.write_str("SOCKS5's BIND isn't served, CONNECT alone"),
            Socks5Denial::Command(3) => {
                f.write_str("SOCKS5's UDP ASSOCIATE isn't served, CONNECT alone")
            }
            Socks5Denial::Command(code) => write!(f, "SOCKS5 has no command {}", code),
            Socks5Denial::AddressType(code) => {
                write!(f, "SOCKS5 has no type {} of addresses", code)
            }
            Socks5Denial::Destination(why) => f.write_str(why),
        }
    }
}

impl error::Error for Socks5Denial {}

/// One client's side of the dialogue, as far as its request.
pub struct Socks5Server {
    bytes: Vec<u8>,
    awaited: Awaited,
}

/// What comes next of the client.
#[derive(Debug)]
enum Awaited {
    /// From somebody who must be this user, if any.
    Greeting(Option<Arc<Credentials>>),
    Login(Arc<Credentials>),
    Request,
}

impl fmt::Debug for Socks5Server {
    /// How much, not what: a client's password may be in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socks5Server")
            .field("bytes", &self.bytes.len())
            .field("awaited", &self.awaited)
            .finish()
    }
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Step {
    /// To read on.
    Read,
    /// To send this, and to ask again without anything new.
    Send(Vec<u8>),
    /// To connect it, and to tell it how that went.
    Connect(HostPort),
}

impl Socks5Server {
    /// For a client who must be `user`, if that is anybody.
    pub fn new(user: Option<Arc<Credentials>>) -> Socks5Server {
        Socks5Server {
            bytes: Vec::new(),
            awaited: Awaited::Greeting(user),
        }
    }

    /// Adds what came.
    ///
    /// # Errors
    ///
    /// When the client can't be served, as soon as that is clear.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Socks5Step, Socks5Denial> {
        self.bytes.extend_from_slice(piece);
        let decoded = match &self.awaited {
            Awaited::Greeting(user) => {
                let (method, next) = match user {
                    None => (method::NO_AUTHENTICATION, Awaited::Request),
                    Some(user) => (method::LOGIN, Awaited::Login(user.clone())),
                };
                let answer = Socks5Step::Send(vec![VERSION, method]);
                greeting(&self.bytes, method)?.map(|()| (answer, next))
            }
            Awaited::Login(user) => {
                let answer = Socks5Step::Send(vec![LOGIN_VERSION, login::RIGHT]);
                login(&self.bytes, user)?.map(|()| (answer, Awaited::Request))
            }
            Awaited::Request => {
                let asked = |destination| (Socks5Step::Connect(destination), Awaited::Request);
                request(&self.bytes)?.map(asked)
            }
        };
        Ok(match decoded {
            Decoded::Partial => Socks5Step::Read,
            Decoded::Complete((step, next), length) => {
                self.bytes.drain(..length);
                self.awaited = next;
                step
            }
        })
    }

    /// What came behind the request.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// `05 NMETHODS METHODS`, with ours among them.
fn greeting(bytes: &[u8], method: u8) -> Result<Decoded<()>, Socks5Denial> {
    match bytes.get(1..).and_then(counted) {
        None => Ok(Decoded::Partial),
        Some((methods, _)) if methods.contains(&method) => {
            Ok(Decoded::Complete((), 2 + methods.len()))
        }
        Some(_) => Err(Socks5Denial::Method(method)),
    }
}

/// `01 ULEN UNAME PLEN PASSWD`, with the right ones in it.
fn login(bytes: &[u8], right: &Credentials) -> Result<Decoded<()>, Socks5Denial> {
    match bytes.first() {
        Some(version) if *version != LOGIN_VERSION => {
            return Err(Socks5Denial::LoginVersion(*version))
        }
        _ => {}
    }
    let named = bytes.get(1..).and_then(counted);
    let (user, password) = match named.map(|(user, behind)| (user, counted(behind))) {
        Some((user, Some((password, _)))) => (user, password),
        _ => return Ok(Decoded::Partial),
    };
    // Both are looked at: the time doesn't tell which of them is wrong.
    let is_user = is_same(user, right.user().as_bytes());
    let is_password = is_same(password, right.password().reveal().as_bytes());
    if is_user && is_password {
        Ok(Decoded::Complete((), 3 + user.len() + password.len()))
    } else {
        Err(Socks5Denial::Login)
    }
}

/// So many bytes as the first one says, and what is behind them.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, behind) = bytes.split_first()?;
    let count = usize::from(*count);
    if count <= behind.len() {
        Some(behind.split_at(count))
    } else {
        None
    }
}

/// `05 01 00 ATYP ADDRESS PORT`.
fn request(bytes: &[u8]) -> Result<Decoded<HostPort>, Socks5Denial> {
    match bytes {
        [version, ..] if *version != VERSION => return Err(Socks5Denial::Version(*version)),
        [_, command, ..] if *command != CONNECT => return Err(Socks5Denial::Command(*command)),
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
        _ => return Err(Socks5Denial::AddressType(kind)),
    };
    let end = skipped + length;
    let (address, port) = match (address.get(skipped..end), address.get(end..end + 2)) {
        (Some(address), Some(port)) => (address, u16::from_be_bytes([port[0], port[1]])),
        _ => return Ok(Decoded::Partial),
    };
    let destination = host(address, kind).and_then(|host| destination(host, port));
    let destination = destination.map_err(Socks5Denial::Destination)?;
    Ok(Decoded::Complete(destination, 4 + end + 2))
}

fn host(address: &[u8], kind: u8) -> Result<Host, String> {
    if let (atyp::IPV4, Ok(octets)) = (kind, TryInto::<[u8; 4]>::try_into(address)) {
        return Ok(Host::Ip(Ipv4Addr::from(octets).into()));
    }
    if let (atyp::IPV6, Ok(octets)) = (kind, TryInto::<[u8; 16]>::try_into(address)) {
        return Ok(Host::Ip(Ipv6Addr::from(octets).into()));
    }
    named(address)
}

#[cfg(test)]
mod tests;
