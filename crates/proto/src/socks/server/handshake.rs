//! The messages of one client, SOCKS4 or SOCKS5, up to its request. The first byte decides the version.
//!
//! ```text
//!   SOCKS4 request ────────────────────────────────────▶ the destination, and finally
//!      └──▶ 00 5B                                  ┌───▶ a SocksReply
//!   SOCKS5 greeting ──▶ 05 00 ────────────────▶ request
//!      │ └─────▶ 05 02 ──▶ login ──▶ 01 00 ──────▲ │
//!      └──▶ 05 FF            └──▶ 01 01            └──▶ 05 07, 05 08, 05 01
//! ```

use std::sync::Arc;

use super::super::{method, LOGIN_VERSION, VERSION, VERSION_4};
use super::{status, v4_messages as v4, v5_messages as v5, SocksRejection};
use crate::auth::LoginCheck;
use crate::debug_by_name;
use crate::values::HostPort;
use crate::Step;

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
