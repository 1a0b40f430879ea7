//! SOCKS4 and 4A.

use super::{InboundHandshake, InboundProtocol, Step};
use crate::proto::{Socks4Reply, Socks4Server};

impl InboundHandshake for Socks4Server {
    fn feed(&mut self, piece: &[u8]) -> Step {
        match self.feed(piece) {
            Ok(None) => Step::Read,
            Ok(Some(destination)) => InboundProtocol::Socks4.asked(destination),
            Err(denial) => Step::denied(denial.reply(), denial),
        }
    }

    fn into_rest(self: Box<Self>) -> Vec<u8> {
        (*self).into_rest()
    }
}

pub(super) fn granted() -> Vec<u8> {
    Socks4Reply::Granted.encode()
}

/// It has one no for everything.
pub(super) fn failed() -> Vec<u8> {
    Socks4Reply::Rejected.encode()
}
