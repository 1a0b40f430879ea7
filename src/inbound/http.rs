//! HTTP requests: CONNECT and forwarded requests of `-D`, only CONNECT of `--serve-proxy`.

use std::sync::Arc;

use super::policy::{authenticate, parse_target, HttpRejection, Policy};
use super::{ConnectRequest, InboundProtocol, Rejection};
use crate::config::Credentials;
use crate::proto::{with_bytes, ConnectHead, Forward, HeadReader, Malformed, Step, HEAD_LIMIT};

/// The head of a client's request, as far as it has arrived.
#[derive(Debug)]
pub(super) struct HttpRequestReader {
    head: HeadReader,
    rules: HttpRules,
}

/// The requests that are allowed.
#[derive(Debug)]
pub(super) enum HttpRules {
    /// Any destination, by CONNECT or with a URL, for this user or any client.
    Any(Option<Arc<Credentials>>),
    /// A destination that the policy grants, by CONNECT.
    Policy(Policy),
}

impl HttpRequestReader {
    pub(super) fn new(rules: HttpRules) -> HttpRequestReader {
        let head = HeadReader::new(HEAD_LIMIT);
        HttpRequestReader { head, rules }
    }

    /// Adds bytes that arrived.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        let head = self.head.extend(piece, with_bytes(ConnectHead::decode));
        match head.transpose() {
            None => Ok(Step::Read),
            Some(head) => Ok(Step::Done(self.read(head)?)),
        }
    }

    /// Returns the request in this head.
    ///
    /// # Errors
    ///
    /// 400 if the request is malformed, 407 without the right credentials; those of the policy.
    fn read(
        &mut self,
        head: Result<(ConnectHead, Vec<u8>), Malformed>,
    ) -> Result<ConnectRequest, HttpRejection> {
        let target = match &self.rules {
            HttpRules::Policy(policy) => policy.judge(head.map(|(head, _)| head))?,
            HttpRules::Any(user) => {
                let (request, head) = head?;
                authenticate(&request, user.as_deref())?;
                if request.method != "CONNECT" {
                    let forward = Forward::rewrite(&head)?;
                    self.head.put_back(&forward.head);
                    let protocol = InboundProtocol::Forward(forward.boundary);
                    return Ok(protocol.connect_request(forward.destination));
                }
                parse_target(&request.target)?
            }
        };
        Ok(InboundProtocol::Http.connect_request(target))
    }

    pub(super) fn into_rest(self) -> Vec<u8> {
        self.head.into_rest()
    }
}
