//! A client's request as it arrives: the first byte decides the protocol.

use std::fmt;
use std::sync::Arc;

use super::http::HttpRequestReader;
use super::{ConnectRequest, Rejection};
use crate::config::Credentials;
use crate::error::Error;
use crate::proto::{self, Socks4Server, Socks5Server};

/// A client's request as it arrives, in whichever protocol the listener speaks. The default is that
/// of a `-D` listener without a user.
#[derive(Debug, Default)]
pub struct InboundHandshake {
    state: State,
}

#[derive(Debug)]
enum State {
    /// No byte has come yet. The client must present these credentials, if any.
    Silent(Option<Arc<Credentials>>),
    /// The protocol is known.
    Reading(Box<dyn RequestReader>),
}

impl Default for State {
    fn default() -> State {
        State::Silent(None)
    }
}

/// Reads a client's request in one protocol.
pub(super) trait RequestReader: fmt::Debug + Send {
    /// Adds bytes that came.
    fn feed(&mut self, piece: &[u8]) -> HandshakeStep;

    /// Returns the bytes that came behind the request.
    fn into_rest(self: Box<Self>) -> Vec<u8>;
}

/// Returns the reader of the protocol that begins with the byte `first`, for clients that must
/// present `user`, if any.
fn reader(first: u8, user: Option<Arc<Credentials>>) -> Box<dyn RequestReader> {
    match first {
        proto::VERSION_4 => Box::new(Socks4Server::new(user.is_some())),
        proto::VERSION => Box::new(Socks5Server::new(user)),
        _ => Box::new(HttpRequestReader::for_user(user)),
    }
}

/// What the caller of a handshake does next.
#[derive(Debug)]
pub enum HandshakeStep {
    /// Read more, and feed it.
    Read,
    /// Send these bytes, then feed nothing.
    Send(Vec<u8>),
    /// Connect the client.
    ConnectRequest(ConnectRequest),
    /// Send the reply and close.
    Rejection(Rejection),
}

impl InboundHandshake {
    /// Returns a handshake in any of the protocols, for a client that must present `user`, if any.
    pub(super) fn detect(user: Option<Arc<Credentials>>) -> InboundHandshake {
        InboundHandshake {
            state: State::Silent(user),
        }
    }

    /// Returns a handshake in one protocol.
    pub(super) fn reading(reader: impl RequestReader + 'static) -> InboundHandshake {
        InboundHandshake {
            state: State::Reading(Box::new(reader)),
        }
    }

    /// Adds bytes that came.
    pub fn feed(&mut self, piece: &[u8]) -> HandshakeStep {
        if let (State::Silent(user), Some(first)) = (&self.state, piece.first()) {
            self.state = State::Reading(reader(*first, user.clone()));
        }
        match &mut self.state {
            State::Silent(_) => HandshakeStep::Read,
            State::Reading(reader) => reader.feed(piece),
        }
    }

    /// Returns the bytes for the destination: all that came behind the request, and in front of
    /// them the rewritten request, where ptunnel forwards it.
    pub fn into_rest(self) -> Vec<u8> {
        match self.state {
            State::Silent(_) => Vec::new(),
            State::Reading(reader) => reader.into_rest(),
        }
    }
}

impl HandshakeStep {
    pub(super) fn rejected(reply: Vec<u8>, why: impl fmt::Display) -> HandshakeStep {
        let error = Error::rejected(why.to_string());
        HandshakeStep::Rejection(Rejection { reply, error })
    }
}
