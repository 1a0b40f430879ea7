//! Negotiation with an HTTP proxy: CONNECT requests, replies and challenges (RFC 9110 §9.3.6, §11.7).

use std::mem;

use super::super::auth::{Answer, AuthCache, Authenticator};
use super::super::http::body::Skip;
use super::super::http::response::INTERIM_LIMIT;
use super::super::refusal::AuthFailure;
use super::super::HEAD_LIMIT;
use super::super::{HeadReader, HttpRefusal, Malformed, Refusal, Request, Response, StatusClass};
use super::NegotiationStep;
use crate::config::{Scheme, Secret};
use crate::text::debug::debug_by_name;

/// Negotiation with an HTTP proxy, in as many requests as the authentication takes.
///
/// ```text
///   begin ──▶ awaiting ──2xx──▶ Granted, with the bytes after the head
///               │  ▲ ▲
///               │  │ └──1xx, a few times
///               │  └───Send── skipping the challenge's body
///               │               ▲
///               ├──407 that can be answered ──▶ Redial, unless the connection is kept
///               └── any other status ──▶ Refused, also if its head is cut or has invalid lines
/// ```
///
/// The number of requests is bounded by [`Authenticator`], that of interim replies by
/// [`INTERIM_LIMIT`].
pub(super) struct Http {
    request: Request,
    /// The credentials of earlier requests.
    spent: Vec<Secret>,
    authenticator: Option<Authenticator>,
    head: HeadReader,
    /// The body of the challenge that is answered next.
    skipping: Option<Skip>,
    interim: u8,
    /// The request wasn't the first on its connection, which the proxy may have been closing.
    is_reused: bool,
    /// The credentials of the request are valid on this connection only.
    is_bound: bool,
    /// The credentials of the request were sent: on another connection they are created again.
    is_sent: bool,
}

// The request may hold credentials.
debug_by_name!(Http);

impl Http {
    /// As [`Negotiation::new`](super::Negotiation::new).
    pub(super) fn new(mut request: Request, auth: Option<AuthCache>) -> Http {
        let mut authenticator = auth.map(Authenticator::new);
        let authorization = authenticator
            .as_mut()
            .and_then(|it| it.begin(request.target()));
        if authorization.is_some() {
            request.authorize(authorization);
        }
        Http {
            request,
            spent: Vec::new(),
            authenticator,
            head: HeadReader::new(HEAD_LIMIT),
            skipping: None,
            interim: 0,
            is_reused: false,
            is_bound: false,
            is_sent: false,
        }
    }

    /// As [`Negotiation::begin`](super::Negotiation::begin).
    pub(super) fn begin(&mut self) -> Vec<u8> {
        self.head = HeadReader::new(HEAD_LIMIT);
        self.skipping = None;
        self.is_reused = false;
        self.encode()
    }

    fn encode(&mut self) -> Vec<u8> {
        if mem::replace(&mut self.is_sent, true) {
            let authenticator = self.authenticator.as_mut();
            let target = self.request.target();
            if let Some(value) = authenticator.and_then(|it| it.again(target)) {
                self.authorize(value);
            }
        }
        self.request.encode()
    }

    fn authorize(&mut self, value: Option<Secret>) {
        self.spent.extend(self.request.authorize(value));
    }

    /// As [`Negotiation::feed`](super::Negotiation::feed).
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        if self.skipping.is_some() {
            return self.skip(piece);
        }
        match self.feed_head(piece) {
            Err(Malformed::TooLong(limit)) => self.cut().ok_or(Malformed::TooLong(limit)),
            step => step,
        }
    }

    fn feed_head(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        let mut decoded = self.head.extend(piece, Response::decode)?;
        while let Some(response) = decoded {
            match response.status_class() {
                StatusClass::Granted => {
                    if let Some(authenticator) = &mut self.authenticator {
                        let verified = authenticator.verify(&response.challenges);
                        verified.map_err(|_| Malformed::Impostor)?;
                        authenticator.accepted(response.next_nonce);
                    }
                    return Ok(NegotiationStep::Granted(self.take_rest()));
                }
                StatusClass::Refused => return self.refused(response),
                StatusClass::Interim if self.interim == INTERIM_LIMIT => {
                    return Err(Malformed::TooManyInterim)
                }
                StatusClass::Interim => self.interim += 1,
            }
            decoded = self.head.decode(Response::decode)?;
        }
        Ok(NegotiationStep::Read)
    }

    /// Returns the scheme of the next or the last request; `None` once the proxy has accepted it.
    pub(super) fn scheme(&self) -> Option<Scheme> {
        self.authenticator.as_ref()?.scheme()
    }

    /// As [`Negotiation::end`](super::Negotiation::end).
    ///
    /// A proxy can close a kept connection at any time, and can close another one without an
    /// announcement: an end between its challenge and its reply to the answer isn't a refusal.
    pub(super) fn end(&mut self) -> Option<NegotiationStep> {
        let is_between = self.skipping.is_some() || self.is_reused && self.head.is_empty();
        if is_between && !self.is_bound {
            return Some(NegotiationStep::Redial);
        }
        self.cut()
    }

    /// Returns the meaning of a head that isn't complete and won't be, if it is that of a refusal.
    fn cut(&mut self) -> Option<NegotiationStep> {
        let response = self.head.decode(Response::decode_cut).ok()??;
        if response.wants_credentials() && response.challenges.is_empty() {
            // The challenges may be missing: it says nothing about the password.
            return Some(self.refusal(response, b"", AuthFailure::NoCredentials));
        }
        self.refused(response).ok()
    }

    fn refused(&mut self, response: Response) -> Result<NegotiationStep, Malformed> {
        let rest = self.take_rest();
        let answer = match response.status {
            407 => self.answer(&response),
            401 => Err(match &mut self.authenticator {
                Some(authenticator) => authenticator.refused_without_challenge(),
                None => AuthFailure::NoCredentials,
            }),
            _ => {
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.refused_otherwise();
                }
                Err(AuthFailure::NoCredentials)
            }
        };
        let framing = response.framing.filter(|_| response.is_kept);
        let body = match (answer, framing) {
            (Err(failure), _) => return Ok(self.refusal(response, &rest, failure)),
            (Ok(answer), None) if answer.is_bound => {
                return Ok(self.refusal(response, &rest, AuthFailure::Closed))
            }
            (Ok(answer), framing) => {
                self.authorize(Some(answer.value));
                self.is_sent = false;
                self.is_bound = answer.is_bound;
                framing.map(Skip::new)
            }
        };
        if body.is_none() {
            return Ok(NegotiationStep::Redial);
        }
        self.skipping = body;
        self.skip(&rest)
    }

    /// Skips the body of a challenge. The answer is sent on the same connection unless bytes follow
    /// that body: no request has been sent that they could reply to.
    fn skip(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        let rest = match &mut self.skipping {
            Some(body) => body.skip(piece),
            None => Ok(None),
        };
        match rest {
            Ok(None) => Ok(NegotiationStep::Read),
            Ok(Some(b"")) => {
                self.skipping = None;
                self.is_reused = true;
                Ok(NegotiationStep::Send(self.encode()))
            }
            _ if self.is_bound => Err(Malformed::Body),
            _ => Ok(NegotiationStep::Redial),
        }
    }

    fn answer(&mut self, response: &Response) -> Result<Answer, AuthFailure> {
        let authenticator = self.authenticator.as_mut();
        let authenticator = authenticator.ok_or(AuthFailure::NoCredentials)?;
        authenticator.answer(&response.challenges, self.request.target())
    }

    fn take_rest(&mut self) -> Vec<u8> {
        mem::replace(&mut self.head, HeadReader::new(HEAD_LIMIT)).into_rest()
    }

    /// Returns the refusal, without what this negotiation has sent in confidence.
    fn refusal(&self, response: Response, body: &[u8], failure: AuthFailure) -> NegotiationStep {
        let mut secrets = self.request.secrets();
        let spent = self.spent.iter();
        spent.for_each(|value| secrets.add_authorization(value));
        let authenticator = self.authenticator.as_ref();
        if let Some(credentials) = authenticator.and_then(Authenticator::credentials) {
            secrets.add_credentials(credentials);
        }
        let refusal = HttpRefusal::new(response, body, &secrets).after(failure);
        NegotiationStep::Refused(Box::new(Refusal::Http(refusal)))
    }
}
