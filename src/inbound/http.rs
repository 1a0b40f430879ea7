//! HTTP: CONNECT, as the embedded proxy has it, to any destination; and requests that are sent on.

use std::sync::Arc;

use super::{InboundHandshake, InboundProtocol, Step};
use crate::config::Credentials;
use crate::error::Error;
use crate::inbound::policy::{self, HttpRejection, Wish, GRANTED};
use crate::proto::{ConnectHead, HeadReader, HEAD_LIMIT};

/// A client of which the head has come in part.
#[derive(Debug)]
pub(super) struct Http {
    head: HeadReader,
    /// Who it must be, if not anybody.
    user: Option<Arc<Credentials>>,
}

impl Http {
    pub(super) fn new(user: Option<Arc<Credentials>>) -> Http {
        let head = HeadReader::new(HEAD_LIMIT);
        Http { head, user }
    }
}

impl InboundHandshake for Http {
    fn feed(&mut self, piece: &[u8]) -> Step {
        match self
            .head
            .extend(piece, ConnectHead::decode_whole)
            .transpose()
        {
            None => Step::Read,
            Some(request) => match policy::wish(request, self.user.as_deref()) {
                Ok(Wish::Tunnel(destination)) => InboundProtocol::Http.asked(destination),
                Ok(Wish::Forward(forward)) => {
                    self.head.put_back(&forward.head);
                    InboundProtocol::Forward(forward.passage).asked(forward.destination)
                }
                Err(denial) => Step::denied(denial.reply(), denial),
            },
        }
    }

    fn into_rest(self: Box<Self>) -> Vec<u8> {
        self.head.into_rest()
    }
}

pub(super) fn granted() -> Vec<u8> {
    GRANTED.to_vec()
}

pub(super) fn failed(error: &Error) -> Vec<u8> {
    HttpRejection::unreachable(error).reply()
}

pub(super) fn unforwarded(error: &Error) -> Vec<u8> {
    HttpRejection::unforwarded(error).reply()
}
