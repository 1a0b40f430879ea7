//! One tunnel's part of the authentication: what was said, and what is said next.

use std::fmt;
use std::mem;
use std::time::Duration;

use super::super::refusal::Attempt;
use super::cache::{CachedAuth, Clearance};
use super::digest::{Offer, Session};
use super::{basic, ntlm, AuthCache, Challenge};
use crate::config::{HostPort, Scheme, Secret};

/// Challenges of one proxy that are answered for one tunnel: one for what was sent before it was
/// asked for, two for NTLM.
const ANSWERS: u8 = 3;

/// The method of all our requests.
const METHOD: &str = "CONNECT";

/// One tunnel's part of the authentication.
///
/// A scheme is tried once: a proxy that offers it again has refused the credentials, and more of
/// the same, or the password in a weaker scheme, would only lock the account, or give it away.
///
/// Once the proxy has refused the password, it is withheld from it for a while, whichever tunnel
/// asks: [`Clearance`].
pub(in crate::proto) struct Authenticator {
    identity: AuthCache,
    clearance: Clearance,
    /// The first request went without the password, which is withheld so much longer.
    withheld: Option<Duration>,
    sent: Sent,
    answers: u8,
    /// The proxy called an answer stale and repeated the nonce of that answer.
    has_repeated: bool,
}

/// What the last request held.
enum Sent {
    Nothing,
    Basic,
    /// An answer with the nonce that an earlier tunnel was challenged with.
    KnownDigest(String),
    Digest(Box<Session>),
    NtlmNegotiate,
    NtlmAnswer,
}

/// What the next request must contain.
pub(in crate::proto) struct Answer {
    /// The value of `Proxy-Authorization`.
    pub(in crate::proto) value: Secret,
    /// It means nothing on any other connection.
    pub(in crate::proto) is_bound: bool,
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue")
            .field("answers", &self.answers)
            .field("scheme", &self.scheme())
            .finish()
    }
}

impl Authenticator {
    pub(in crate::proto) fn new(identity: AuthCache) -> Authenticator {
        Authenticator {
            clearance: identity.clearance(),
            identity,
            withheld: None,
            sent: Sent::Nothing,
            answers: 0,
            has_repeated: false,
        }
    }

    /// The scheme of what is in the last request, until that was taken.
    pub(in crate::proto) fn scheme(&self) -> Option<Scheme> {
        match self.sent {
            Sent::Nothing => None,
            Sent::Basic => Some(Scheme::Basic),
            Sent::KnownDigest(_) | Sent::Digest(_) => Some(Scheme::Digest),
            Sent::NtlmNegotiate | Sent::NtlmAnswer => Some(Scheme::Ntlm),
        }
    }

    /// What goes into the first request: what the proxy took last, or Basic.
    pub(in crate::proto) fn begin(&mut self, target: &HostPort) -> Option<Secret> {
        let identity = &self.identity;
        let mut learnt = identity.learnt();
        // Also where nothing goes ahead: a challenge is answered without a look at the others.
        self.withheld = self.clearance.ask().err();
        let sends = match *learnt {
            CachedAuth::Nothing => identity.schemes().send_basic_ahead(),
            _ => true,
        };
        if !sends || self.withheld.is_some() {
            return None;
        }
        let (sent, value) = match &mut *learnt {
            CachedAuth::Nothing | CachedAuth::Basic => (Sent::Basic, basic(identity.credentials())),
            CachedAuth::Digest(session) => {
                let value = session.answer(METHOD, &target.to_string());
                (Sent::KnownDigest(session.nonce().to_string()), value)
            }
            CachedAuth::Ntlm => (Sent::NtlmNegotiate, ntlm::negotiate()),
        };
        drop(learnt);
        self.sent = sent;
        Some(value)
    }

    /// What answers these challenges, if it's worth another request; or else what there was to be
    /// made of them.
    pub(in crate::proto) fn answer(
        &mut self,
        challenges: &[Challenge],
        target: &HostPort,
    ) -> Result<Answer, Attempt> {
        let offer = Offer::strongest(challenges);
        let is_stale = offer.as_ref().map_or(false, |offer| offer.is_stale);
        let uses = match &offer {
            Some(offer) => self.uses(offer.nonce()),
            None => 0,
        };
        let repeats_again = is_stale && uses > 0 && mem::replace(&mut self.has_repeated, true);
        let tried = self.scheme();
        match mem::replace(&mut self.sent, Sent::Nothing) {
            Sent::NtlmNegotiate if self.offers(challenges, Scheme::Ntlm) => {
                return self.answer_ntlm(challenges).ok_or(Attempt::Unchallenged)
            }
            Sent::NtlmAnswer => return Err(self.refused(Scheme::Ntlm)),
            // Who offers others only has not looked at what it didn't ask for.
            Sent::Basic if challenges.is_empty() || self.offers(challenges, Scheme::Basic) => {
                return Err(self.refused(Scheme::Basic))
            }
            Sent::Digest(_) if !is_stale => return Err(self.refused(Scheme::Digest)),
            Sent::Digest(_) | Sent::KnownDigest(_) if repeats_again => return Err(Attempt::Stale),
            // Its nonce is of another day, or the proxy wants another scheme now. What was learnt
            // stays until something else is taken: no fallback to Basic meanwhile.
            _ => {}
        }
        if self.answers == ANSWERS {
            return Err(match tried {
                _ if is_stale => Attempt::Stale,
                Some(scheme) => self.refused(scheme),
                None => Attempt::Unable,
            });
        }
        self.answers += 1;
        let answer = match self.choose(challenges, target, uses) {
            Some(answer) => answer,
            None => return Err(self.excuse(challenges)),
        };
        if let Err(left) = self.clearance.ask() {
            self.sent = Sent::Nothing;
            return Err(Attempt::Withheld(left));
        }
        Ok(answer)
    }

    /// What repeats the last request's answer, where that may be seen once only.
    pub(in crate::proto) fn again(&mut self, target: &HostPort) -> Option<Secret> {
        match &mut self.sent {
            Sent::Digest(session) => Some(session.answer(METHOD, &target.to_string())),
            _ => None,
        }
    }

    /// What a refusal means that challenges nobody, and yet is about the password: a 401.
    pub(in crate::proto) fn refused_without_challenge(&mut self) -> Attempt {
        match (self.scheme(), self.withheld) {
            (Some(scheme), _) => self.refused(scheme),
            (None, Some(left)) => Attempt::Withheld(left),
            (None, None) => Attempt::Nameless,
        }
    }

    /// The proxy refused the request for a reason other than the password. It has accepted the
    /// password if it had asked for it; what was sent ahead it may not have looked at.
    pub(in crate::proto) fn refused_otherwise(&mut self) {
        if self.answers > 0 {
            self.accepted(None);
        }
    }

    /// The proxy refused the password in this scheme.
    fn refused(&mut self, scheme: Scheme) -> Attempt {
        self.clearance.refused();
        Attempt::Tried(scheme)
    }

    /// How often this nonce was used in the last answers, as far as is known here.
    fn uses(&self, nonce: &str) -> u32 {
        match (&self.sent, &*self.identity.learnt()) {
            (Sent::Digest(session), _) if session.nonce() == nonce => session.uses(),
            (Sent::KnownDigest(known), CachedAuth::Digest(session))
                if known == nonce && session.nonce() == nonce =>
            {
                session.uses()
            }
            _ => 0,
        }
    }

    /// Why there is no answer to these: the user may be who keeps us from it.
    fn excuse(&self, challenges: &[Challenge]) -> Attempt {
        let mut known = challenges.iter().filter_map(Challenge::known).peekable();
        let is_known = known.peek().is_some();
        if is_known && known.all(|scheme| !self.identity.schemes().allow(scheme)) {
            Attempt::Restricted
        } else {
            Attempt::Unable
        }
    }

    /// The strongest first, in curl's order: Digest shows neither the password nor, as NTLM does,
    /// an answer made from a hash that is as good as the password wherever it is known; after the
    /// first tunnel it costs one request instead of two, and it outlives a closed connection.
    /// `uses`: how often a nonce was used already that the proxy repeats.
    fn choose(&mut self, challenges: &[Challenge], target: &HostPort, uses: u32) -> Option<Answer> {
        let offer =
            Offer::strongest(challenges).filter(|_| self.offers(challenges, Scheme::Digest));
        let value = if let Some(offer) = offer {
            let mut session = Session::new(offer, self.identity.credentials(), uses)?;
            let value = session.answer(METHOD, &target.to_string());
            self.sent = Sent::Digest(Box::new(session));
            value
        } else if self.offers(challenges, Scheme::Ntlm) {
            self.sent = Sent::NtlmNegotiate;
            ntlm::negotiate()
        } else if self.offers(challenges, Scheme::Basic) {
            self.sent = Sent::Basic;
            basic(self.identity.credentials())
        } else {
            return None;
        };
        Some(Answer {
            value,
            is_bound: false,
        })
    }

    fn answer_ntlm(&mut self, challenges: &[Challenge]) -> Option<Answer> {
        let mut tokens = challenges
            .iter()
            .filter(|challenge| challenge.is(Scheme::Ntlm))
            .filter_map(|challenge| challenge.token.as_deref());
        let challenge = ntlm::ChallengeMessage::read(tokens.next()?)?;
        let value = challenge.answer(self.identity.credentials())?;
        self.sent = Sent::NtlmAnswer;
        Some(Answer {
            value,
            is_bound: true,
        })
    }

    fn offers(&self, challenges: &[Challenge], scheme: Scheme) -> bool {
        self.identity.schemes().allow(scheme) && challenges.iter().any(|c| c.is(scheme))
    }

    /// The proxy took what was sent; `next_nonce` is what it would like next.
    pub(in crate::proto) fn accepted(&mut self, next_nonce: Option<String>) {
        match self.sent {
            Sent::Nothing | Sent::NtlmNegotiate => self.clearance.unwanted(),
            _ => self.clearance.accepted(),
        }
        let took = match mem::replace(&mut self.sent, Sent::Nothing) {
            Sent::Digest(mut session) => {
                if let Some(nonce) = next_nonce {
                    session.renew(nonce);
                }
                CachedAuth::Digest(*session)
            }
            Sent::KnownDigest(nonce) => {
                if let CachedAuth::Digest(session) = &mut *self.identity.learnt() {
                    // Another tunnel may have learnt a newer one meanwhile.
                    let next = next_nonce.filter(|_| session.nonce() == nonce);
                    if let Some(next) = next {
                        session.renew(next);
                    }
                }
                return;
            }
            Sent::Basic if self.answers > 0 => CachedAuth::Basic,
            Sent::NtlmAnswer => CachedAuth::Ntlm,
            Sent::Basic | Sent::NtlmNegotiate | Sent::Nothing => return,
        };
        *self.identity.learnt() = took;
    }
}
