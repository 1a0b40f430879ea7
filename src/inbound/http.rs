//! HTTP: CONNECT, as the embedded proxy has it, to any destination; and requests that are sent on.

use std::sync::Arc;

use super::{Dialogue, Language, Step};
use crate::config::Credentials;
use crate::error::Error;
use crate::inbound::policy::{self, Denial, Wish, GRANTED};
use crate::proto::{HeadReader, Inbound, HEAD_LIMIT};

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

impl Dialogue for Http {
    fn feed(&mut self, piece: &[u8]) -> Step {
        match self.head.extend(piece, Inbound::decode_whole).transpose() {
            None => Step::Read,
            Some(request) => match policy::wish(request, self.user.as_deref()) {
                Ok(Wish::Tunnel(destination)) => Language::Http.asked(destination),
                Ok(Wish::Forward(forward)) => {
                    self.head.put_back(&forward.head);
                    Language::Forward(forward.passage).asked(forward.destination)
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
    Denial::unreachable(error).reply()
}

pub(super) fn unforwarded(error: &Error) -> Vec<u8> {
    Denial::unforwarded(error).reply()
}
