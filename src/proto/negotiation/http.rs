//! The talk with an HTTP proxy: requests with CONNECT, replies and challenges.

use std::fmt;
use std::mem;

use super::super::auth::{Answer, AuthCache, Authenticator};
use super::super::http::body::Skip;
use super::super::http::response::INTERIM_LIMIT;
use super::super::refusal::Attempt;
use super::super::HEAD_LIMIT;
use super::super::{HeadReader, HttpRefusal, Malformed, Refusal, Request, Response, StatusClass};
use super::NegotiationStep;
use crate::config::Scheme;

/// Asks a proxy for a tunnel, with as many requests as it takes to say who we are.
///
/// ```text
///   begin ──▶ awaiting ──2xx──▶ Granted, with what came behind the head
///               │  ▲ ▲
///               │  │ └──1xx, a few times
///               │  └───Send── skipping the challenge's body
///               │               ▲
///               ├──407 that can be answered ──▶ Redial, when the connection isn't kept
///               └── any other status ──▶ Refused
/// ```
///
/// The number of requests has a limit.
pub(super) struct Http {
    request: Request,
    dialogue: Option<Authenticator>,
    head: HeadReader,
    /// The body of a challenge whose answer goes out next.
    skipping: Option<Skip>,
    interim: u8,
    /// The request wasn't the first on its connection, which may have been about to close.
    is_reused: bool,
    /// The request means nothing on another connection.
    is_bound: bool,
    /// Its credentials have gone out: on another connection they are made anew.
    is_sent: bool,
}

impl fmt::Debug for Http {
    /// Where it stands, not what it sends: the request may hold our credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("target", self.request.target())
            .field("dialogue", &self.dialogue)
            .finish()
    }
}

impl From<Request> for Http {
    /// Takes the first answer, whatever it is.
    fn from(request: Request) -> Http {
        Http {
            request,
            dialogue: None,
            head: HeadReader::new(HEAD_LIMIT),
            skipping: None,
            interim: 0,
            is_reused: false,
            is_bound: false,
            is_sent: false,
        }
    }
}

impl Http {
    /// Will send `request`, and say who we are as the proxy wants it.
    pub(super) fn new(request: Request, identity: AuthCache) -> Http {
        let mut dialogue = Authenticator::new(identity);
        let mut http = Http::from(request);
        if let Some(value) = dialogue.begin(http.request.target()) {
            http.request.authorize(value);
        }
        http.dialogue = Some(dialogue);
        http
    }

    /// What is sent first on a new connection.
    pub(super) fn begin(&mut self) -> Vec<u8> {
        self.head = HeadReader::new(HEAD_LIMIT);
        self.skipping = None;
        self.is_reused = false;
        self.encode()
    }

    fn encode(&mut self) -> Vec<u8> {
        if mem::replace(&mut self.is_sent, true) {
            let dialogue = self.dialogue.as_mut();
            let target = self.request.target();
            if let Some(value) = dialogue.and_then(|dialogue| dialogue.again(target)) {
                self.request.authorize(value);
            }
        }
        self.request.encode()
    }

    /// Takes a further piece of what the proxy says.
    ///
    /// # Errors
    ///
    /// When that isn't a reply. No byte of the connection can be trusted any more.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        if self.skipping.is_some() {
            return self.skip(piece);
        }
        let mut decoded = self.head.extend(piece, Response::decode)?;
        while let Some(response) = decoded {
            match response.status_class()? {
                StatusClass::Granted => {
                    self.accepted(response.next_nonce);
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

    /// How the request that goes next, or went last, says who we are; `None` once it was taken.
    pub fn scheme(&self) -> Option<Scheme> {
        self.dialogue.as_ref()?.scheme()
    }

    /// Whether the end of the connection is a reason to connect anew rather than to give up.
    ///
    /// A proxy that keeps connections may close one at any time, and one that doesn't may fail to
    /// say so: when it leaves between its challenge and our answer, it has not said no.
    pub(super) fn may_redial(&self) -> bool {
        let is_between = self.skipping.is_some() || self.is_reused && self.head.is_empty();
        is_between && !self.is_bound
    }

    fn refused(&mut self, response: Response) -> Result<NegotiationStep, Malformed> {
        let rest = self.take_rest();
        let answer = match response.status {
            407 => self.answer(&response),
            401 => Err(match &mut self.dialogue {
                Some(dialogue) => dialogue.refused_without_challenge(),
                None => Attempt::Nameless,
            }),
            _ => {
                if let Some(dialogue) = &mut self.dialogue {
                    dialogue.refused_otherwise();
                }
                Err(Attempt::Nameless)
            }
        };
        let body = match (answer, response.framing) {
            (Err(attempt), _) => return Ok(refusal(response, &rest, attempt)),
            (Ok(answer), None) if answer.is_bound => {
                return Ok(refusal(response, &rest, Attempt::Closed))
            }
            (Ok(answer), framing) => {
                self.request.authorize(answer.value);
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

    /// Passes over the body of a challenge. The answer goes to the same connection if nothing
    /// stands behind that body: nobody was asked for more yet.
    fn skip(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        let behind = match &mut self.skipping {
            Some(body) => body.skip(piece),
            None => Ok(None),
        };
        match behind {
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

    fn answer(&mut self, response: &Response) -> Result<Answer, Attempt> {
        let dialogue = self.dialogue.as_mut().ok_or(Attempt::Nameless)?;
        dialogue.answer(&response.challenges, self.request.target())
    }

    fn accepted(&mut self, next_nonce: Option<String>) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.accepted(next_nonce);
        }
    }

    fn take_rest(&mut self) -> Vec<u8> {
        mem::replace(&mut self.head, HeadReader::new(HEAD_LIMIT)).into_rest()
    }
}

fn refusal(response: Response, body: &[u8], attempt: Attempt) -> NegotiationStep {
    let refusal = HttpRefusal::new(response, body).after(attempt);
    NegotiationStep::Refused(Box::new(Refusal::Http(refusal)))
}
