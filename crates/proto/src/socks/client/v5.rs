//! SOCKS5 (RFC 1928) in two messages, or in three if the proxy requires a username and a password
//! (RFC 1929).

use std::mem;
use std::net::IpAddr;

use super::super::{atyp, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{refused, SocksError};
use crate::auth::{AuthCache, Clearance, Outcome, Refused};
use crate::values::{Credentials, Host, HostPort};
use crate::{AuthMethod, Malformed, NegotiationStep, SocksRefusal};

/// `STATUS` and `REP` of success (RFC 1929 §2, RFC 1928 §6).
const SUCCEEDED: u8 = 0;

/// Negotiation with a SOCKS5 proxy.
///
/// ```text
///   begin ──▶ Greeting ──no authentication──▶ Request ──succeeded──▶ Granted, with the bytes after
///              │    │                           ▲ │                  the reply
///              │    └─username and password──▶ Login ──wrong──▶ Refused
///              │                                  └──any other code──▶ Refused
///              └──any other method──▶ Refused
/// ```
///
/// Only one message is under way at any time: a proxy that sends more than one reply violates the
/// protocol.
#[derive(Debug)]
pub struct Socks5 {
    target: HostPort,
    /// The username and the password, and whether they can be sent.
    login: Option<Clearance>,
    sent: ProxyMessage,
    /// The received part of the reply to the last message.
    reply: Vec<u8>,
}

/// A message to the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyMessage {
    Greeting,
    Login,
    Request,
}

impl Socks5 {
    /// Requests a tunnel to `target`, and authenticates if the proxy requires it.
    pub fn connect(target: &HostPort, auth: Option<AuthCache>) -> Socks5 {
        Socks5 {
            target: target.clone(),
            login: auth.map(|auth| {
                let mut login = Clearance::new(auth);
                login.retain(Credentials::fit_in_socks5);
                login
            }),
            sent: ProxyMessage::Greeting,
            reply: Vec::new(),
        }
    }

    pub(crate) fn begin(&mut self) -> Vec<u8> {
        self.sent = ProxyMessage::Greeting;
        self.reply.clear();
        let login = self.login.as_mut().filter(|login| !login.has_failed());
        match login.map(|login| login.request(None)) {
            Some(Ok(())) => vec![VERSION, 2, method::NO_AUTHENTICATION, method::LOGIN],
            Some(Err(_)) | None => vec![VERSION, 1, method::NO_AUTHENTICATION],
        }
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        self.reply.extend_from_slice(piece);
        match (self.sent, self.reply.first()) {
            // Some proxies write 5 as the version of a reply to a login, which is 1.
            (ProxyMessage::Login, _) | (_, None) | (_, Some(&VERSION)) => {}
            (_, Some(&byte)) => {
                let version = VERSION;
                return Err(SocksError::Start { version, byte }.into());
            }
        }
        // The second byte of every reply is its meaning.
        match (self.sent, self.reply.get(1).copied()) {
            (_, None) => Ok(NegotiationStep::Read),
            (ProxyMessage::Greeting, Some(chosen)) => self.chosen(chosen),
            (ProxyMessage::Login, Some(SUCCEEDED)) => {
                if let Some(login) = &mut self.login {
                    login.report(Outcome::Accepted(None));
                }
                self.request()
            }
            (ProxyMessage::Login, Some(_)) => {
                if let Some(login) = &mut self.login {
                    login.report(Outcome::Refused(None, Refused::Password));
                }
                Ok(refused(SocksRefusal::Credentials))
            }
            (ProxyMessage::Request, Some(SUCCEEDED)) => self.succeeded(),
            (ProxyMessage::Request, Some(code)) => Ok(refused(SocksRefusal::Reply {
                code,
                by_name: matches!(self.target.host, Host::Name(_)),
            })),
        }
    }

    pub(crate) fn auth_method(&self) -> Option<AuthMethod> {
        match self.sent {
            ProxyMessage::Login => Some(AuthMethod::Login),
            ProxyMessage::Greeting | ProxyMessage::Request => None,
        }
    }

    /// Continues with the method that the proxy has chosen (RFC 1928 §3).
    fn chosen(&mut self, chosen: u8) -> Result<NegotiationStep, Malformed> {
        let withheld = self.login.as_ref().and_then(Clearance::withheld);
        match (chosen, &mut self.login) {
            (method::NO_AUTHENTICATION, login) => {
                if let Some(login) = login {
                    login.report(Outcome::Unneeded);
                }
                self.request()
            }
            (_, Some(login)) if login.has_failed() => Ok(refused(SocksRefusal::NoPassword)),
            (method::LOGIN, Some(clearance)) if withheld.is_none() => {
                let message = clearance.credentials().map(login).unwrap_or_default();
                self.send(ProxyMessage::Login, message)
            }
            // A method that wasn't offered says what `NO_ACCEPTABLE` does.
            (_, login) => {
                let named = login.is_some();
                let refusal = SocksRefusal::Methods { named };
                Ok(refused(withheld.map_or(refusal, SocksRefusal::Withheld)))
            }
        }
    }

    fn request(&mut self) -> Result<NegotiationStep, Malformed> {
        let message = request(&self.target);
        self.send(ProxyMessage::Request, message)
    }

    fn send(
        &mut self,
        message: ProxyMessage,
        bytes: Vec<u8>,
    ) -> Result<NegotiationStep, Malformed> {
        if self.reply.len() > 2 {
            return Err(SocksError::Ahead.into());
        }
        self.sent = message;
        self.reply.clear();
        Ok(NegotiationStep::Send(bytes))
    }

    /// Returns the bytes after the reply, once it is complete. It ends with an address, which a
    /// tunnel doesn't need; the length of the address depends on its type (RFC 1928 §6).
    fn succeeded(&mut self) -> Result<NegotiationStep, Malformed> {
        let length = match self.reply[2..] {
            [_, atyp::IPV4, ..] => 4,
            [_, atyp::IPV6, ..] => 16,
            [_, atyp::NAME, length, ..] => 1 + usize::from(length),
            [] | [_] | [_, atyp::NAME] => return Ok(NegotiationStep::Read),
            [_, other, ..] => return Err(SocksError::Address(other).into()),
        };
        let end = 4 + length + 2;
        if self.reply.len() < end {
            return Ok(NegotiationStep::Read);
        }
        let mut reply = mem::take(&mut self.reply);
        Ok(NegotiationStep::Granted(reply.split_off(end)))
    }
}

/// `01 ULEN UNAME PLEN PASSWD` (RFC 1929 §2).
fn login(credentials: &Credentials) -> Vec<u8> {
    let mut message = vec![LOGIN_VERSION];
    push_counted(&mut message, credentials.user());
    push_counted(&mut message, credentials.password().reveal());
    message
}

/// `05 01 00 ATYP ADDRESS PORT` (RFC 1928 §4).
fn request(target: &HostPort) -> Vec<u8> {
    let mut message = vec![VERSION, CONNECT, 0];
    match &target.host {
        Host::Ip(IpAddr::V4(ip)) => {
            message.push(atyp::IPV4);
            message.extend_from_slice(&ip.octets());
        }
        Host::Ip(IpAddr::V6(ip)) => {
            message.push(atyp::IPV6);
            message.extend_from_slice(&ip.octets());
        }
        Host::Name(name) => {
            message.push(atyp::NAME);
            push_counted(&mut message, name);
        }
    }
    message.extend_from_slice(&target.port.to_be_bytes());
    message
}

/// Appends the text after its length, which is one byte: `config` accepts no longer name, username
/// or password.
fn push_counted(message: &mut Vec<u8>, text: &str) {
    debug_assert!(text.len() <= usize::from(u8::MAX));
    message.push(text.len() as u8);
    message.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests;
