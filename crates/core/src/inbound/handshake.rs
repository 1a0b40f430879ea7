//! A client's request as it arrives: the first byte decides the protocol, or the listener.

use std::sync::Arc;
use std::time::Duration;

use super::http::{HttpRequestReader, HttpRules};
use super::login::ClientLogin;
use super::redirect::{NameReader, SILENCE};
use super::{ConnectRequest, InboundProtocol, Rejection};
use crate::error::Error;
use ptunnel_proto::auth::{LoginCheck, LoginFault};
use ptunnel_proto::{self, SocksRejection, SocksServer, Step};

/// A client's request as it arrives, in any protocol of the listener. The default is that of a `-D`
/// listener without a user.
#[derive(Debug, Default)]
pub struct InboundHandshake {
    state: State,
    /// What the client must pass, if anything.
    login: Option<Arc<ClientLogin>>,
}

#[derive(Debug)]
enum State {
    /// No byte has arrived yet.
    Silent,
    /// The protocol is a version of SOCKS.
    Socks(InboundProtocol, SocksServer),
    Http(HttpRequestReader),
    Redirected(NameReader),
}

impl Default for State {
    fn default() -> State {
        State::Silent
    }
}

impl State {
    /// Returns the state of the protocol that begins with the byte `first`, for a client that must
    /// pass `login`, if anything.
    fn reading(first: u8, login: Option<Arc<ClientLogin>>) -> State {
        let check = login.clone().map(|login| login as Arc<dyn LoginCheck>);
        match first {
            ptunnel_proto::VERSION_4 => {
                State::Socks(InboundProtocol::Socks4, SocksServer::new(check))
            }
            ptunnel_proto::VERSION => {
                State::Socks(InboundProtocol::Socks5, SocksServer::new(check))
            }
            _ => State::Http(HttpRequestReader::new(HttpRules::Any, login)),
        }
    }
}

impl InboundHandshake {
    /// Returns a handshake in any of the protocols, for a client that must pass `login`, if anything.
    pub(super) fn detect(login: Option<Arc<ClientLogin>>) -> InboundHandshake {
        let state = State::Silent;
        InboundHandshake { state, login }
    }

    /// Returns a handshake in HTTP, for a client that must pass `login`, if anything.
    pub(super) fn http(rules: HttpRules, login: Option<Arc<ClientLogin>>) -> InboundHandshake {
        let state = State::Http(HttpRequestReader::new(rules, login.clone()));
        InboundHandshake { state, login }
    }

    /// Returns whether a thread checks the client's password, or has checked it. Then the caller must
    /// not read: it waits while it [is checked](InboundHandshake::is_checking), and feeds an empty
    /// piece.
    pub fn awaits_check(&self) -> bool {
        let login = self.login.as_ref();
        login.map_or(false, |login| login.is_awaited())
    }

    /// Returns whether a thread still checks the client's password; then the function that `wake`
    /// makes is called when it is done.
    pub fn is_checking(&self, wake: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        let login = self.login.as_ref();
        login.map_or(false, |login| login.is_pending(wake))
    }

    /// Returns a handshake with a redirected client, which sends no request.
    pub(super) fn redirected(reader: NameReader) -> InboundHandshake {
        InboundHandshake {
            state: State::Redirected(reader),
            login: None,
        }
    }

    /// Returns the time that the client can be silent before [`end`](InboundHandshake::end) is
    /// called; `None` for no such limit.
    pub fn silence_limit(&self) -> Option<Duration> {
        match self.state {
            State::Redirected(_) => Some(SILENCE),
            State::Silent | State::Socks(..) | State::Http(_) => None,
        }
    }

    /// Returns the request of a client that has sent its end or is silent, or its rejection; `None` if
    /// its protocol requires more bytes.
    pub fn end(&self) -> Option<Result<ConnectRequest, Rejection>> {
        match &self.state {
            State::Redirected(reader) => Some(reader.request()),
            State::Silent | State::Socks(..) | State::Http(_) => None,
        }
    }

    /// Adds bytes that arrived; returns the client's request once it is complete.
    ///
    /// # Errors
    ///
    /// The rejection, if the client can't be served.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        if let (State::Silent, Some(first)) = (&self.state, piece.first()) {
            self.state = State::reading(*first, self.login.clone());
        }
        let step = self.read(piece)?;
        Ok(match step {
            Step::Done(request) => Step::Done(ConnectRequest {
                user: self.login.as_ref().and_then(|login| login.user()),
                ..request
            }),
            step => step,
        })
    }

    fn read(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        match &mut self.state {
            State::Silent => Ok(Step::Read),
            State::Http(reader) => reader.feed(piece),
            State::Redirected(reader) => reader.feed(piece),
            State::Socks(protocol, server) => match server.feed(piece) {
                Ok(Step::Read) => Ok(Step::Read),
                Ok(Step::Send(answer)) => Ok(Step::Send(answer)),
                Ok(Step::Done(destination)) => {
                    Ok(Step::Done(protocol.connect_request(destination)))
                }
                Err(rejection) => Err(Rejection {
                    reply: rejection.reply(),
                    error: match rejection {
                        SocksRejection::Login(LoginFault::Throttled) => Error::throttled,
                        _ => Error::rejected,
                    }(rejection.to_string()),
                }),
            },
        }
    }

    /// Returns the bytes for the destination: those that arrived after the request, preceded by the
    /// rewritten request if ptunnel forwards it.
    pub fn into_rest(self) -> Vec<u8> {
        match self.state {
            State::Silent => Vec::new(),
            State::Socks(_, server) => server.into_rest(),
            State::Http(reader) => reader.into_rest(),
            State::Redirected(reader) => reader.into_bytes(),
        }
    }
}
