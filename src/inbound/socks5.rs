//! SOCKS5.

use super::handshake::RequestReader;
use super::{HandshakeStep, InboundProtocol};
use crate::error::Error;
use crate::proto::{Refusal, Socks5Reply, Socks5Server, Socks5Step, SocksRefusal};

impl RequestReader for Socks5Server {
    fn feed(&mut self, piece: &[u8]) -> HandshakeStep {
        match self.feed(piece) {
            Ok(Socks5Step::Read) => HandshakeStep::Read,
            Ok(Socks5Step::Send(answer)) => HandshakeStep::Send(answer),
            Ok(Socks5Step::Connect(destination)) => {
                InboundProtocol::Socks5.connect_request(destination)
            }
            Err(rejection) => HandshakeStep::rejected(rejection.reply(), rejection),
        }
    }

    fn into_rest(self: Box<Self>) -> Vec<u8> {
        (*self).into_rest()
    }
}

pub(super) fn granted() -> Vec<u8> {
    Socks5Reply::Succeeded.encode()
}

pub(super) fn failed(error: &Error) -> Vec<u8> {
    reply(error).encode()
}

/// Returns the nearest reply that RFC 1928 §6 has. The client learns about its destination alone,
/// not which proxy failed.
fn reply(error: &Error) -> Socks5Reply {
    match error.refusal() {
        Some(Refusal::Http(refusal)) => {
            return match refusal.status() {
                403 => Socks5Reply::NotAllowed,
                502 | 503 => Socks5Reply::HostUnreachable,
                504 => Socks5Reply::TimedOut,
                _ => Socks5Reply::Failed,
            }
        }
        Some(Refusal::Socks(SocksRefusal::Reply { code, .. })) => {
            return Socks5Reply::passed_on(*code)
        }
        Some(Refusal::Socks(_)) => return Socks5Reply::Failed,
        None => {}
    }
    if error.is_timeout() {
        return Socks5Reply::TimedOut;
    }
    if error.is_forbidden() {
        return Socks5Reply::NotAllowed;
    }
    match error.direct_failure() {
        Some(cause) => match cause.raw_os_error() {
            Some(libc::ECONNREFUSED) => Socks5Reply::Refused,
            Some(libc::ENETUNREACH) => Socks5Reply::NetworkUnreachable,
            _ => Socks5Reply::HostUnreachable,
        },
        None => Socks5Reply::Failed,
    }
}
