//! HTTP requests: CONNECT and forwarded requests of `-D`, only CONNECT of `--serve-proxy`.

use std::sync::Arc;

use super::login::ClientLogin;
use super::policy::{authenticate, parse_target, HttpRejection, Policy};
use super::{ConnectRequest, InboundProtocol, Rejection};
use ptunnel_proto::auth::LoginCheck;
use ptunnel_proto::{with_bytes, ConnectHead, Forward, HeadReader, Step, HEAD_LIMIT};

/// The head of a client's request, as far as it has arrived.
#[derive(Debug)]
pub(super) struct HttpRequestReader {
    head: HeadReader,
    /// The whole head, until the password in it is checked.
    decoded: Option<(ConnectHead, Vec<u8>)>,
    rules: HttpRules,
    login: Option<Arc<ClientLogin>>,
}

/// The requests that are allowed.
#[derive(Debug)]
pub(super) enum HttpRules {
    /// Any destination, by CONNECT or with a URL.
    Any,
    /// A destination that the policy grants, by CONNECT.
    Policy(Policy),
}

impl HttpRequestReader {
    /// Returns a reader of the request of a client that must pass `login`, if anything.
    pub(super) fn new(rules: HttpRules, login: Option<Arc<ClientLogin>>) -> HttpRequestReader {
        HttpRequestReader {
            head: HeadReader::new(HEAD_LIMIT),
            decoded: None,
            rules,
            login,
        }
    }

    /// Adds bytes that arrived.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        let (request, bytes) = match self.decoded.take() {
            Some(decoded) => decoded,
            None => {
                let head = self.head.extend(piece, with_bytes(ConnectHead::decode));
                match head.transpose() {
                    None => return Ok(Step::Read),
                    Some(head) => head.map_err(HttpRejection::from)?,
                }
            }
        };
        let login = self.login.as_ref().map(|login| &**login as &dyn LoginCheck);
        if !authenticate(&request, login)? {
            self.decoded = Some((request, bytes));
            return Ok(Step::Read);
        }
        Ok(Step::Done(self.read(request, &bytes)?))
    }

    /// Returns the request in this head.
    ///
    /// # Errors
    ///
    /// 400 if the request is malformed; those of the policy.
    fn read(&mut self, request: ConnectHead, head: &[u8]) -> Result<ConnectRequest, HttpRejection> {
        let target = match &self.rules {
            HttpRules::Policy(policy) => policy.grant(&request)?,
            HttpRules::Any if request.method != "CONNECT" => {
                let forward = Forward::rewrite(head)?;
                self.head.put_back(&forward.head);
                let protocol = InboundProtocol::Forward(forward.boundary);
                return Ok(protocol.connect_request(forward.destination));
            }
            HttpRules::Any => parse_target(&request.target)?,
        };
        Ok(InboundProtocol::Http.connect_request(target))
    }

    pub(super) fn into_rest(self) -> Vec<u8> {
        self.head.into_rest()
    }
}
