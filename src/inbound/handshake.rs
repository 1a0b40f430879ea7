//! A client's request as it arrives: the first byte decides the protocol, or the listener.

use std::sync::Arc;
use std::time::Duration;

use super::http::{HttpRequestReader, HttpRules};
use super::redirect::{NameReader, SILENCE};
use super::{ConnectRequest, InboundProtocol, Rejection};
use crate::config::Credentials;
use crate::error::Error;
use crate::proto::{self, SocksServer, Step};

/// A client's request as it arrives, in any protocol of the listener. The default is that of a `-D`
/// listener without a user.
#[derive(Debug, Default)]
pub struct InboundHandshake {
    state: State,
}

#[derive(Debug)]
enum State {
    /// No byte has arrived yet. The client must present these credentials, if any.
    Silent(Option<Arc<Credentials>>),
    /// The protocol is a version of SOCKS.
    Socks(InboundProtocol, SocksServer),
    Http(HttpRequestReader),
    Redirected(NameReader),
}

impl Default for State {
    fn default() -> State {
        State::Silent(None)
    }
}

impl State {
    /// Returns the state of the protocol that begins with the byte `first`, for clients that must
    /// present `user`, if any.
    fn reading(first: u8, user: Option<Arc<Credentials>>) -> State {
        match first {
            proto::VERSION_4 => State::Socks(InboundProtocol::Socks4, SocksServer::new(user)),
            proto::VERSION => State::Socks(InboundProtocol::Socks5, SocksServer::new(user)),
            _ => State::Http(HttpRequestReader::new(HttpRules::Any(user))),
        }
    }
}

impl InboundHandshake {
    /// Returns a handshake in any of the protocols, for a client that must present `user`, if any.
    pub(super) fn detect(user: Option<Arc<Credentials>>) -> InboundHandshake {
        InboundHandshake {
            state: State::Silent(user),
        }
    }

    /// Returns a handshake in HTTP.
    pub(super) fn http(rules: HttpRules) -> InboundHandshake {
        InboundHandshake {
            state: State::Http(HttpRequestReader::new(rules)),
        }
    }

    /// Returns a handshake with a redirected client, which sends no request.
    pub(super) fn redirected(reader: NameReader) -> InboundHandshake {
        InboundHandshake {
            state: State::Redirected(reader),
        }
    }

    /// Returns the time that the client can be silent before [`end`](InboundHandshake::end) is
    /// called; `None` for no such limit.
    pub fn silence_limit(&self) -> Option<Duration> {
        match self.state {
            State::Redirected(_) => Some(SILENCE),
            State::Silent(_) | State::Socks(..) | State::Http(_) => None,
        }
    }

    /// Returns the request of a client that has sent its end or is silent; `None` if its protocol
    /// requires more bytes.
    pub fn end(&self) -> Option<ConnectRequest> {
        match &self.state {
            State::Redirected(reader) => Some(reader.request()),
            State::Silent(_) | State::Socks(..) | State::Http(_) => None,
        }
    }

    /// Adds bytes that arrived; returns the client's request once it is complete.
    ///
    /// # Errors
    ///
    /// The rejection, if the client can't be served.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        if let (State::Silent(user), Some(first)) = (&self.state, piece.first()) {
            self.state = State::reading(*first, user.clone());
        }
        match &mut self.state {
            State::Silent(_) => Ok(Step::Read),
            State::Http(reader) => reader.feed(piece),
            State::Redirected(reader) => Ok(reader.feed(piece)),
            State::Socks(protocol, server) => match server.feed(piece) {
                Ok(Step::Read) => Ok(Step::Read),
                Ok(Step::Send(answer)) => Ok(Step::Send(answer)),
                Ok(Step::Done(destination)) => {
                    Ok(Step::Done(protocol.connect_request(destination)))
                }
                Err(rejection) => Err(Rejection {
                    reply: rejection.reply(),
                    error: Error::rejected(rejection.to_string()),
                }),
            },
        }
    }

    /// Returns the bytes for the destination: those that arrived after the request, preceded by the
    /// rewritten request if ptunnel forwards it.
    pub fn into_rest(self) -> Vec<u8> {
        match self.state {
            State::Silent(_) => Vec::new(),
            State::Socks(_, server) => server.into_rest(),
            State::Http(reader) => reader.into_rest(),
            State::Redirected(reader) => reader.into_bytes(),
        }
    }
}
