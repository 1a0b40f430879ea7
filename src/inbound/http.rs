//! HTTP requests: CONNECT and forwarded requests of `-D`, CONNECT alone of `--serve-proxy`.

use std::sync::Arc;

use super::policy::{self, HttpRequest, Policy};
use super::{ConnectRequest, InboundProtocol, Rejection};
use crate::config::Credentials;
use crate::proto::{with_bytes, ConnectHead, HeadReader, Step, HEAD_LIMIT};

/// The head of a client's request, as far as it has come.
#[derive(Debug)]
pub(super) struct HttpRequestReader {
    head: HeadReader,
    rules: Rules,
}

/// What a request may ask for.
#[derive(Debug)]
enum Rules {
    /// Any destination, for this user or any client.
    Any(Option<Arc<Credentials>>),
    /// A destination that the policy grants.
    Policy(Policy),
}

impl HttpRequestReader {
    /// Returns a reader for `-D`, of clients that must present `user`, if any.
    pub(super) fn for_user(user: Option<Arc<Credentials>>) -> HttpRequestReader {
        HttpRequestReader::new(Rules::Any(user))
    }

    /// Returns a reader for `--serve-proxy`.
    pub(super) fn for_policy(policy: Policy) -> HttpRequestReader {
        HttpRequestReader::new(Rules::Policy(policy))
    }

    fn new(rules: Rules) -> HttpRequestReader {
        let head = HeadReader::new(HEAD_LIMIT);
        HttpRequestReader { head, rules }
    }

    /// Adds bytes that came.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        let head = self.head.extend(piece, with_bytes(ConnectHead::decode));
        let head = match head.transpose() {
            None => return Ok(Step::Read),
            Some(head) => head,
        };
        let request = match &self.rules {
            Rules::Any(user) => policy::read_request(head, user.as_deref()),
            Rules::Policy(policy) => policy
                .judge(head.map(|(head, _)| head))
                .map(HttpRequest::Connect),
        };
        Ok(Step::Done(match request? {
            HttpRequest::Connect(destination) => InboundProtocol::Http.connect_request(destination),
            HttpRequest::Forward(forward) => {
                self.head.put_back(&forward.head);
                InboundProtocol::Forward(forward.boundary).connect_request(forward.destination)
            }
        }))
    }

    pub(super) fn into_rest(self) -> Vec<u8> {
        self.head.into_rest()
    }
}
