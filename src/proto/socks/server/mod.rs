//! The server's side, for the clients of `-D`: CONNECT only. The first byte decides the version.
//!
//! ```text
//!   SOCKS4 request ────────────────────────────────────▶ the destination, and finally
//!      └──▶ 00 5B                                  ┌───▶ a SocksReply
//!   SOCKS5 greeting ──▶ 05 00 ────────────────▶ request
//!      │ └─────▶ 05 02 ──▶ login ──▶ 01 00 ──────▲ │
//!      └──▶ 05 FF            └──▶ 01 01            └──▶ 05 07, 05 08, 05 01
//! ```
//!
//! Must not hold anything that reads, writes or waits, nor the choice of a reply to a failed tunnel.
//! `inbound` uses it.

mod reply;
mod v4;
mod v5;

use std::sync::Arc;

pub use self::reply::{SocksRejection, SocksReply};

use super::{method, CONNECT, LOGIN_VERSION, VERSION, VERSION_4};
use crate::config::{Host, HostPort};
use crate::proto::auth::LoginCheck;
use crate::proto::Step;
use crate::text::debug::debug_by_name;
use crate::text::escape::Escaped;

/// `STATUS` of a reply to a login (RFC 1929 §2).
mod status {
    pub(super) const SUCCESS: u8 = 0;
    pub(super) const FAILURE: u8 = 1;
}

/// The messages of one client, up to its request.
pub struct SocksServer {
    bytes: Vec<u8>,
    next: ClientMessage,
}

/// The next message of the client.
#[derive(Debug)]
enum ClientMessage {
    /// A SOCKS4 request, or the greeting of SOCKS5, from a client that must pass this check, if any.
    First(Option<Arc<dyn LoginCheck>>),
    Login(Arc<dyn LoginCheck>),
    Request,
}

// The bytes may hold a password.
debug_by_name!(SocksServer);

impl SocksServer {
    /// Returns the state before the first message of a client that must pass `check`, if any: then a
    /// SOCKS4 client is always rejected.
    pub fn new(check: Option<Arc<dyn LoginCheck>>) -> SocksServer {
        SocksServer {
            bytes: Vec::new(),
            next: ClientMessage::First(check),
        }
    }

    /// Adds bytes from the client; returns the destination once its request is complete. While the
    /// check is pending, it asks for more and keeps the login, which the next piece completes even if
    /// it is empty.
    ///
    /// # Errors
    ///
    /// [`SocksRejection`] if the client can't be served, as early as possible.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Step<HostPort>, SocksRejection> {
        self.bytes.extend_from_slice(piece);
        let bytes = &self.bytes[..];
        let end = |(destination, length)| (Step::Done(destination), ClientMessage::Request, length);
        let decoded = match &self.next {
            ClientMessage::First(check) if bytes.first() == Some(&VERSION_4) => match check {
                Some(_) => return Err(SocksRejection::Password),
                None => v4::request(bytes)?.map(end),
            },
            ClientMessage::First(check) => {
                let (method, next) = match check {
                    None => (method::NO_AUTHENTICATION, ClientMessage::Request),
                    Some(check) => (method::LOGIN, ClientMessage::Login(check.clone())),
                };
                let answer = Step::Send(vec![VERSION, method]);
                v5::greeting(bytes, method)?.map(|length| (answer, next, length))
            }
            ClientMessage::Login(check) => {
                let answer = Step::Send(vec![LOGIN_VERSION, status::SUCCESS]);
                v5::login(bytes, &**check)?.map(|length| (answer, ClientMessage::Request, length))
            }
            ClientMessage::Request => v5::request(bytes)?.map(end),
        };
        Ok(match decoded {
            None => Step::Read,
            Some((step, next, length)) => {
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

/// Parses a name. It may be the text of an address: some clients send all destinations as names.
fn named(name: &[u8]) -> Result<Host, String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.parse::<Host>().map_err(|e| e.to_string()),
        Err(_) => Err(format!("invalid host '{}'", Escaped(name))),
    }
}

/// Returns the destination of a request in this version, unless its host is invalid or its port 0.
fn destination(
    version: u8,
    host: Result<Host, String>,
    port: u16,
) -> Result<HostPort, SocksRejection> {
    let destination = host.and_then(|host| match port {
        0 => Err(format!("the request for {} has no port", host)),
        _ => Ok(HostPort { host, port }),
    });
    destination.map_err(|why| SocksRejection::Destination { version, why })
}
