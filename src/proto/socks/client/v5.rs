//! SOCKS5: a tunnel is asked for in two messages, or in three where the proxy wants a user and a
//! password (RFC 1929).

use std::mem;
use std::net::IpAddr;
use std::time::Duration;

use super::super::{kind, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{refused, SocksError};
use crate::config::{Credentials, Host, HostPort};
use crate::proto::auth::{AuthCache, Clearance};
use crate::proto::{AuthMethod, Malformed, NegotiationStep, SocksRefusal};

const SUCCEEDED: u8 = 0;

/// Asks a SOCKS5 proxy for a tunnel.
///
/// ```text
///   begin ──▶ Choosing ──nobody──▶ Asking ──succeeded──▶ Granted, with what came behind the reply
///              │    │                ▲ └──any other code──▶ Refused
///              │    └─login──▶ Proving ──wrong──▶ Refused
///              └──none of these──▶ Refused
/// ```
///
/// Only one message is under way at any time: a proxy that says more than it was asked for talks
/// nonsense.
#[derive(Debug)]
pub struct Socks5 {
    target: HostPort,
    login: Option<Login>,
    stage: Stage,
    /// What has come of the reply to the last message.
    reply: Vec<u8>,
}

/// The user and the password, and whether they may be sent.
#[derive(Debug)]
struct Login {
    identity: AuthCache,
    clearance: Clearance,
    /// They weren't offered, being withheld for so much longer.
    withheld: Option<Duration>,
}

/// Which message was sent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Choosing,
    Proving,
    Asking,
}

impl Socks5 {
    /// Will ask for a tunnel to `target`, and say who we are when that is wanted.
    pub fn connect(target: &HostPort, identity: Option<AuthCache>) -> Socks5 {
        let login = identity.map(|identity| Login {
            clearance: identity.clearance(),
            identity,
            withheld: None,
        });
        Socks5 {
            target: target.clone(),
            login,
            stage: Stage::Choosing,
            reply: Vec::new(),
        }
    }

    pub(in crate::proto) fn begin(&mut self) -> Vec<u8> {
        self.stage = Stage::Choosing;
        self.reply.clear();
        if let Some(login) = &mut self.login {
            login.withheld = login.clearance.ask().err();
        }
        match self.offered() {
            None => vec![VERSION, 1, method::NOBODY],
            Some(_) => vec![VERSION, 2, method::NOBODY, method::LOGIN],
        }
    }

    /// The user and the password, where they aren't withheld.
    fn offered(&self) -> Option<&Login> {
        let login = self.login.as_ref();
        login.filter(|login| login.withheld.is_none())
    }

    pub(in crate::proto) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        self.reply.extend_from_slice(piece);
        match (self.stage, self.reply.first()) {
            // Its version is left alone: there are proxies that write 5.
            (Stage::Proving, _) | (_, None) | (_, Some(&VERSION)) => {}
            (_, Some(&byte)) => {
                let version = VERSION;
                return Err(SocksError::Start { version, byte }.into());
            }
        }
        // Every reply says in its second byte what it is about.
        match (self.stage, self.reply.get(1).copied()) {
            (_, None) => Ok(NegotiationStep::Read),
            (Stage::Choosing, Some(chosen)) => self.chosen(chosen),
            (Stage::Proving, Some(SUCCEEDED)) => {
                if let Some(login) = &mut self.login {
                    login.clearance.accepted();
                }
                self.ask()
            }
            (Stage::Proving, Some(_)) => {
                if let Some(login) = &mut self.login {
                    login.clearance.refused();
                }
                Ok(refused(SocksRefusal::Credentials))
            }
            (Stage::Asking, Some(SUCCEEDED)) => self.succeeded(),
            (Stage::Asking, Some(code)) => Ok(refused(SocksRefusal::Reply {
                code,
                by_name: matches!(self.target.host, Host::Name(_)),
            })),
        }
    }

    pub(in crate::proto) fn auth_method(&self) -> Option<AuthMethod> {
        match self.stage {
            Stage::Proving => Some(AuthMethod::Login),
            Stage::Choosing | Stage::Asking => None,
        }
    }

    fn chosen(&mut self, chosen: u8) -> Result<NegotiationStep, Malformed> {
        if let (method::NOBODY, Some(login)) = (chosen, &mut self.login) {
            login.clearance.unwanted();
        }
        match (chosen, self.offered()) {
            (method::NOBODY, _) => self.ask(),
            (method::LOGIN, Some(offered)) => {
                let message = login(offered.identity.credentials());
                self.send(Stage::Proving, message)
            }
            (method::NONE_OF_THESE, offered) => {
                let withheld = self.login.as_ref().and_then(|login| login.withheld);
                let named = offered.is_some();
                Ok(refused(withheld.map_or(
                    SocksRefusal::Methods { named },
                    SocksRefusal::Withheld,
                )))
            }
            (other, _) => Err(SocksError::Method(other).into()),
        }
    }

    fn ask(&mut self) -> Result<NegotiationStep, Malformed> {
        let message = request(&self.target);
        self.send(Stage::Asking, message)
    }

    fn send(&mut self, stage: Stage, message: Vec<u8>) -> Result<NegotiationStep, Malformed> {
        if self.reply.len() > 2 {
            return Err(SocksError::Ahead.into());
        }
        self.stage = stage;
        self.reply.clear();
        Ok(NegotiationStep::Send(message))
    }

    /// What is behind the reply, once that is whole: it ends with an address, which is of no use
    /// to a tunnel, and whose length it tells itself.
    fn succeeded(&mut self) -> Result<NegotiationStep, Malformed> {
        let length = match self.reply[2..] {
            [_, kind::IPV4, ..] => 4,
            [_, kind::IPV6, ..] => 16,
            [_, kind::NAME, length, ..] => 1 + usize::from(length),
            [] | [_] | [_, kind::NAME] => return Ok(NegotiationStep::Read),
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

fn login(credentials: &Credentials) -> Vec<u8> {
    let mut message = vec![LOGIN_VERSION];
    push_counted(&mut message, credentials.user());
    push_counted(&mut message, credentials.password().reveal());
    message
}

fn request(target: &HostPort) -> Vec<u8> {
    let mut message = vec![VERSION, CONNECT, 0];
    match &target.host {
        Host::Ip(IpAddr::V4(ip)) => {
            message.push(kind::IPV4);
            message.extend_from_slice(&ip.octets());
        }
        Host::Ip(IpAddr::V6(ip)) => {
            message.push(kind::IPV6);
            message.extend_from_slice(&ip.octets());
        }
        Host::Name(name) => {
            message.push(kind::NAME);
            push_counted(&mut message, name);
        }
    }
    message.extend_from_slice(&target.port.to_be_bytes());
    message
}

/// Behind its length, for which there is one byte: `config` takes no longer name, user or
/// password.
fn push_counted(message: &mut Vec<u8>, text: &str) {
    debug_assert!(text.len() <= usize::from(u8::MAX));
    message.push(text.len() as u8);
    message.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests;
