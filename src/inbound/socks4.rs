//! SOCKS4 and 4A.

use super::handshake::RequestReader;
use super::{HandshakeStep, InboundProtocol};
use crate::proto::{Socks4Reply, Socks4Server};

impl RequestReader for Socks4Server {
    fn feed(&mut self, piece: &[u8]) -> HandshakeStep {
        match self.feed(piece) {
            Ok(None) => HandshakeStep::Read,
            Ok(Some(destination)) => InboundProtocol::Socks4.connect_request(destination),
            Err(rejection) => HandshakeStep::rejected(rejection.reply(), rejection),
        }
    }

    fn into_rest(self: Box<Self>) -> Vec<u8> {
        (*self).into_rest()
    }
}

pub(super) fn granted() -> Vec<u8> {
    Socks4Reply::Granted.encode()
}

/// SOCKS4 has one reply for every failure.
pub(super) fn failed() -> Vec<u8> {
    Socks4Reply::Rejected.encode()
}
