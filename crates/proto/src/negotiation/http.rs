//! Negotiation with an HTTP proxy: CONNECT requests, replies and challenges (RFC 9110 §9.3.6, §11.7).

use std::mem;

use super::super::auth::{Answer, AuthCache, Authenticator, Blame};
use super::super::http::body::Skip;
use super::super::http::response::INTERIM_LIMIT;
use super::super::refusal::AuthFailure;
use super::super::HEAD_LIMIT;
use super::super::{HeadReader, HttpRefusal, Malformed, Refusal, Request, Response, StatusClass};
use super::{NegotiationStep, StandingRefusal};
use crate::debug_by_name;
use crate::values::{HostPort, Scheme, Secret};

/// Negotiation with an HTTP proxy, in as many requests as the authentication takes.
///
/// ```text
///   begin ──▶ awaiting ──2xx──▶ Granted, with the bytes after the head
///               │  ▲ ▲
///               │  │ └──1xx, a few times
///               │  └───Send── skipping the challenge's body
///               │               ▲
///               ├──407 that can be answered ──▶ Redial, unless the connection is kept
///               ├──407 that is checked ──▶ Redial, to ask for another destination
///               └── any other status ──▶ Refused, also if its head is cut or has invalid lines
/// ```
///
/// A refusal of credentials that the proxy accepted before may be about the destination. To check
/// it, the same exchange is made for a destination that the proxy granted before; whatever comes of
/// that, the tunnel is refused.
///
/// The number of requests is bounded by [`Authenticator`], that of interim replies by
/// [`INTERIM_LIMIT`].
pub(super) struct Http {
    request: Request,
    /// The credentials of earlier requests.
    spent: Vec<Secret>,
    authenticator: Option<Authenticator>,
    head: HeadReader,
    /// The body of the challenge that is answered next, and the head.
    skipping: Option<(Skip, Box<Response>)>,
    interim: u8,
    /// The request wasn't the first on its connection, which the proxy may have been closing.
    is_reused: bool,
    /// The credentials of the request are valid on this connection only.
    is_bound: bool,
    /// The credentials of the request were sent: on another connection they are created again.
    is_sent: bool,
    /// The refusal of the tunnel, while it is checked.
    standing: StandingRefusal,
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
            standing: StandingRefusal::default(),
        }
    }

    /// As [`Negotiation::with_standing`](super::Negotiation::with_standing).
    pub(super) fn stand_in(&mut self, standing: StandingRefusal) {
        self.standing = standing;
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
        let mut decoded = self.head.extend(piece, Response::decode);
        loop {
            let response = match decoded {
                Ok(Some(response)) => response,
                Ok(None) => return Ok(NegotiationStep::Read),
                Err(why) => {
                    let response = self.cut().ok_or(why)?;
                    return self.refused_early(response);
                }
            };
            match response.status_class() {
                StatusClass::Granted => return self.granted(response),
                StatusClass::Refused => return self.refused(response),
                StatusClass::Interim if self.interim == INTERIM_LIMIT => {
                    return self.refused_early(response)
                }
                StatusClass::Interim => self.interim += 1,
            }
            decoded = self.head.decode(Response::decode);
        }
    }

    /// Returns the scheme of the next or the last request; `None` once the proxy has accepted it.
    pub(super) fn scheme(&self) -> Option<Scheme> {
        self.authenticator.as_ref()?.scheme()
    }

    /// As [`Negotiation::checked_with`](super::Negotiation::checked_with).
    pub(super) fn checked_with(&self) -> Option<&HostPort> {
        Some(self.request.target()).filter(|_| self.standing.lock().is_some())
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
        let response = self.cut_refusal()?;
        self.refused_early(response).ok()
    }

    /// Takes a head that isn't complete and won't be; `None` if it grants the tunnel, or if its status
    /// can't be read.
    fn cut(&mut self) -> Option<Response> {
        self.head.decode(Response::decode_cut).ok()?
    }

    fn cut_refusal(&mut self) -> Option<Response> {
        let is_refusal = |it: &Response| it.status_class() == StatusClass::Refused;
        self.cut().filter(is_refusal)
    }

    /// Ends with a response whose head was cut, or which a final one should have followed.
    fn refused_early(&mut self, response: Response) -> Result<NegotiationStep, Malformed> {
        let is_final = response.status_class() == StatusClass::Refused;
        if is_final && !(response.wants_credentials() && response.challenges.is_empty()) {
            return self.refused(response);
        }
        // It says nothing about the password.
        let refusal = self.refusal(response, b"", AuthFailure::Incomplete);
        Ok(self.conclude(refusal, None))
    }

    fn granted(&mut self, response: Response) -> Result<NegotiationStep, Malformed> {
        let mut blame = None;
        if let Some(authenticator) = &mut self.authenticator {
            let verified = authenticator.verify(&response.challenges);
            verified.map_err(|_| Malformed::Impostor)?;
            blame = authenticator.granted(self.request.target(), response.next_nonce);
        }
        Ok(match self.standing.take() {
            Some(refusal) => self.conclude(refusal, blame),
            None => NegotiationStep::Granted(self.take_rest()),
        })
    }

    fn refused(&mut self, response: Response) -> Result<NegotiationStep, Malformed> {
        let target = self.request.target();
        let (failure, blame) = match (response.status, &mut self.authenticator) {
            (407, Some(authenticator)) => {
                let failure = match authenticator.answer(&response.challenges, target) {
                    Ok(answer) if !answer.is_bound || response.kept_framing().is_some() => {
                        return self.answer(answer, response)
                    }
                    Ok(_) => AuthFailure::Closed,
                    Err(failure) => failure,
                };
                let has_challenge = !response.challenges.is_empty();
                let blame = authenticator.refused(&failure, target, has_challenge);
                (failure, blame)
            }
            (401, Some(authenticator)) => {
                let failure = authenticator.refused_without_challenge(target);
                let blame = authenticator.refused(&failure, target, true);
                (failure, blame)
            }
            (_, Some(authenticator)) => {
                let blame = authenticator.refused_otherwise();
                (AuthFailure::NoCredentials, blame)
            }
            (_, None) => (AuthFailure::NoCredentials, None),
        };
        let rest = self.take_rest();
        let refusal = self.refusal(response, &rest, failure);
        Ok(self.conclude(refusal, blame))
    }

    /// Returns the refusal, without what this negotiation has sent in confidence: that of the tunnel, if
    /// it is being checked.
    fn refusal(&mut self, response: Response, body: &[u8], failure: AuthFailure) -> HttpRefusal {
        if let Some(refusal) = self.standing.take() {
            return refusal;
        }
        let mut secrets = self.request.secrets();
        let spent = self.spent.iter();
        spent.for_each(|value| secrets.add_authorization(value));
        let authenticator = self.authenticator.as_ref();
        if let Some(credentials) = authenticator.and_then(Authenticator::credentials) {
            secrets.add_credentials(credentials);
        }
        HttpRefusal::new(response, body, &secrets).after(failure)
    }

    /// Ends the negotiation with the refusal, unless another destination must be asked for first.
    fn conclude(&mut self, refusal: HttpRefusal, blame: Option<Blame>) -> NegotiationStep {
        let refusal = match blame {
            Some(Blame::Unclear(check)) => {
                *self.standing.lock() = Some(refusal);
                self.request.retarget(check.other);
                self.authorize(None);
                self.is_bound = false;
                return NegotiationStep::Redial;
            }
            Some(Blame::Destination(left)) => refusal.after(AuthFailure::Destination(left)),
            Some(Blame::Undecided) => refusal.after(AuthFailure::Undecided),
            None => refusal,
        };
        NegotiationStep::Refused(Box::new(Refusal::Http(refusal)))
    }

    /// Sends the next request with this answer, on the same connection if the proxy keeps it.
    fn answer(&mut self, answer: Answer, response: Response) -> Result<NegotiationStep, Malformed> {
        self.authorize(Some(answer.value));
        self.is_sent = false;
        self.is_bound = answer.is_bound;
        self.skipping = match response.kept_framing() {
            Some(framing) => Some((Skip::new(framing), Box::new(response))),
            None => return Ok(NegotiationStep::Redial),
        };
        let rest = self.take_rest();
        self.skip(&rest)
    }

    /// Skips the body of a challenge. The answer is sent on the same connection unless bytes follow
    /// that body: no request has been sent that they could reply to.
    fn skip(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        let rest = match &mut self.skipping {
            Some((body, _)) => body.skip(piece),
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

    fn take_rest(&mut self) -> Vec<u8> {
        mem::replace(&mut self.head, HeadReader::new(HEAD_LIMIT)).into_rest()
    }
}

impl Drop for Http {
    /// Leaves the refusal that the caller didn't wait for.
    fn drop(&mut self) {
        if self.standing.lock().is_some() {
            return;
        }
        let response = match self.skipping.take() {
            Some((_, response)) => Some(*response),
            None => self.cut_refusal(),
        };
        if let Some(mut response) = response {
            // They weren't answered.
            response.challenges.clear();
            let refusal = self.refusal(response, b"", AuthFailure::Incomplete);
            *self.standing.lock() = Some(refusal);
        }
    }
}
