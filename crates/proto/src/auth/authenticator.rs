//! The authentication of one tunnel: the credentials in each of its requests.

use std::mem;

use super::super::refusal::AuthFailure;
use super::cache::{CachedAuth, Clearance};
use super::destinations::Evidence;
use super::digest::{Offer, Session};
use super::{basic, negotiate, ntlm};
use super::{AuthCache, Blame, Challenge, Outcome, Refused, SecurityContext};
use crate::debug_by_name;
use crate::values::{Credentials, HostPort, Scheme, Secret};

/// Maximum number of challenges that are answered for one tunnel: one for credentials that were
/// sent before the proxy required them, two for NTLM, also inside of Negotiate.
const MAX_ANSWERS: u8 = 3;

/// The method of every request.
const METHOD: &str = "CONNECT";

/// The authentication of one tunnel.
///
/// A scheme is tried once: a proxy that offers it again has refused the credentials. Another attempt,
/// or the password in a weaker scheme, could lock the account or reveal the password.
///
/// Once the proxy has refused the password, all tunnels withhold it for a while: [`Clearance`]. If the
/// refusal may be about the destination, it is checked with another one: [`Blame::Unclear`].
pub(crate) struct Authenticator {
    clearance: Clearance,
    sent: Sent,
    answers: u8,
    /// The proxy called an answer stale and repeated the nonce of that answer.
    has_repeated: bool,
    /// The refused scheme, while that refusal is checked: another one would prove nothing.
    only: Option<Scheme>,
}

/// The credentials in the last request.
enum Sent {
    Nothing,
    Basic,
    /// An answer with the nonce of an earlier tunnel's challenge.
    CachedDigest(String),
    Digest(Box<Session>),
    NtlmNegotiate,
    NtlmAuthenticate,
    Negotiate(Box<dyn SecurityContext>),
}

/// The credentials for the next request.
pub(crate) struct Answer {
    /// The value of `Proxy-Authorization`.
    pub(crate) value: Secret,
    /// It is valid on this connection only.
    pub(crate) is_bound: bool,
}

debug_by_name!(Authenticator);

impl Authenticator {
    pub(crate) fn new(cache: AuthCache) -> Authenticator {
        Authenticator {
            clearance: Clearance::new(cache),
            sent: Sent::Nothing,
            answers: 0,
            has_repeated: false,
            only: None,
        }
    }

    /// Returns the credentials of this tunnel.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.clearance.credentials()
    }

    /// Returns the scheme of the last request, until the proxy accepts it.
    pub(crate) fn scheme(&self) -> Option<Scheme> {
        match self.sent {
            Sent::Nothing => None,
            Sent::Basic => Some(Scheme::Basic),
            Sent::CachedDigest(_) | Sent::Digest(_) => Some(Scheme::Digest),
            Sent::NtlmNegotiate | Sent::NtlmAuthenticate => Some(Scheme::Ntlm),
            Sent::Negotiate(_) => Some(Scheme::Negotiate),
        }
    }

    /// Returns the credentials of the first request: those that the proxy accepted last, or Basic.
    pub(crate) fn begin(&mut self, target: &HostPort) -> Option<Secret> {
        if self.clearance.refused_for(target).is_some() {
            return None;
        }
        let is_ahead = !self.clearance.cache().wants_proof();
        if is_ahead && self.clearance.cache().begins_with_negotiate() {
            if let Ok(value) = self.negotiate() {
                return Some(value);
            }
        }
        let credentials = self.clearance.credentials().cloned()?;
        // Even if nothing is sent ahead: this tunnel then answers a challenge without waiting.
        let permission = self.clearance.request(Some(target));
        let cache = self.clearance.cache();
        let mut cached = cache.cached();
        let sends = match *cached {
            _ if !is_ahead => false,
            CachedAuth::Nothing => cache.schemes().send_basic_ahead(),
            CachedAuth::OldDigest => false,
            _ => true,
        };
        if !sends || permission.is_err() {
            return None;
        }
        let (sent, value) = match &mut *cached {
            CachedAuth::Nothing | CachedAuth::Basic => (Sent::Basic, basic(&credentials)),
            CachedAuth::Digest(session) => {
                let value = session.answer(METHOD, &target.to_string());
                (Sent::CachedDigest(session.nonce().to_string()), value)
            }
            CachedAuth::Ntlm => (Sent::NtlmNegotiate, ntlm::negotiate()),
            CachedAuth::OldDigest | CachedAuth::Negotiate => return None,
        };
        drop(cached);
        self.sent = sent;
        Some(value)
    }

    /// Returns the answer to these challenges.
    ///
    /// # Errors
    ///
    /// Why another request would be of no use.
    pub(crate) fn answer(
        &mut self,
        challenges: &[Challenge],
        target: &HostPort,
    ) -> Result<Answer, AuthFailure> {
        let offer = Offer::strongest(challenges);
        let is_stale = offer.as_ref().map_or(false, |offer| offer.is_stale);
        let uses = match &offer {
            Some(offer) => self.uses(offer.nonce()),
            None => 0,
        };
        let repeats_again = is_stale && uses > 0 && mem::replace(&mut self.has_repeated, true);
        let tried = self.scheme();
        if let (None, Some(left)) = (tried, self.clearance.refused_for(target)) {
            return Err(AuthFailure::Destination(Some(left)));
        }
        match mem::replace(&mut self.sent, Sent::Nothing) {
            Sent::NtlmNegotiate if self.offers(challenges, Scheme::Ntlm) => {
                let answer = self.answer_ntlm(challenges);
                return answer.ok_or(AuthFailure::NtlmStopped);
            }
            Sent::NtlmAuthenticate => return Err(AuthFailure::Refused(Scheme::Ntlm)),
            Sent::Negotiate(_) if challenges.is_empty() => {
                return Err(AuthFailure::Refused(Scheme::Negotiate))
            }
            Sent::Negotiate(context) if self.offers(challenges, Scheme::Negotiate) => {
                return self.answer_negotiate(context, challenges)
            }
            // A proxy that offers other schemes only has not looked at Basic.
            Sent::Basic if challenges.is_empty() || self.offers(challenges, Scheme::Basic) => {
                return Err(AuthFailure::Refused(Scheme::Basic))
            }
            Sent::Digest(_) if !is_stale => return Err(AuthFailure::Refused(Scheme::Digest)),
            Sent::Digest(_) | Sent::CachedDigest(_) if repeats_again => {
                return Err(AuthFailure::Stale)
            }
            // The cached nonce has expired, or the proxy requires another scheme now. The cache stays
            // until the proxy accepts something else: no fallback to Basic meanwhile.
            _ => {}
        }
        if self.answers == MAX_ANSWERS {
            return Err(match tried {
                _ if is_stale => AuthFailure::Stale,
                Some(scheme) => AuthFailure::Refused(scheme),
                None => AuthFailure::Unsupported,
            });
        }
        self.answers += 1;
        if self.offers(challenges, Scheme::Negotiate) {
            match self.negotiate() {
                Ok(value) => {
                    self.clearance.give_back();
                    let is_bound = false;
                    return Ok(Answer { value, is_bound });
                }
                Err(why) if self.clearance.credentials().is_none() => {
                    return Err(AuthFailure::NoContext(why))
                }
                Err(_) => {}
            }
        }
        let mut schemes = [Scheme::Basic, Scheme::Digest, Scheme::Ntlm].iter();
        let wants_password = schemes.any(|scheme| self.offers(challenges, *scheme));
        if self.clearance.credentials().is_none() && wants_password {
            return Err(self.no_credentials());
        }
        let answer = match self.choose(challenges, target, uses) {
            Some(answer) => answer,
            None => return Err(self.no_scheme(challenges)),
        };
        if let Err(left) = self.clearance.request(Some(target)) {
            self.sent = Sent::Nothing;
            return Err(AuthFailure::Withheld(left));
        }
        Ok(answer)
    }

    /// Returns the answer for another connection, if the last request's is valid only once: a new one,
    /// or `Some(None)` if there is none now.
    pub(crate) fn again(&mut self, target: &HostPort) -> Option<Option<Secret>> {
        match &mut self.sent {
            Sent::Digest(session) => Some(Some(session.answer(METHOD, &target.to_string()))),
            Sent::Negotiate(_) => {
                self.sent = Sent::Nothing;
                Some(self.negotiate().ok())
            }
            _ => None,
        }
    }

    /// Checks the proxy's token with its acceptance, if it sent one: squid sends none with a 2xx.
    ///
    /// # Errors
    ///
    /// Why the proxy isn't the one that the ticket is for.
    pub(crate) fn verify(&mut self, challenges: &[Challenge]) -> Result<(), String> {
        let context = match &mut self.sent {
            Sent::Negotiate(context) => context,
            _ => return Ok(()),
        };
        let token = match negotiate::token(challenges) {
            Some(token) => token,
            None => return Ok(()),
        };
        match context.step(&token)? {
            None => Ok(()),
            Some(_) => Err("the proxy accepted before it proved its identity".to_string()),
        }
    }

    /// Returns the meaning of a refusal of a request for `target` that has no challenge but is about
    /// the password: a 401.
    pub(crate) fn refused_without_challenge(&self, target: &HostPort) -> AuthFailure {
        let left = self.clearance.refused_for(target);
        match (self.scheme(), left, self.clearance.withheld()) {
            (Some(scheme), ..) => AuthFailure::Refused(scheme),
            (None, Some(_), _) => AuthFailure::Destination(left),
            (None, None, Some(left)) => AuthFailure::Withheld(left),
            (None, None, None) => self.no_credentials(),
        }
    }

    fn no_credentials(&self) -> AuthFailure {
        if self.clearance.has_failed() {
            AuthFailure::NoPassword
        } else {
            AuthFailure::NoCredentials
        }
    }

    /// Notes a refusal for a reason other than the credentials; returns what that says about a refusal
    /// that is checked. If the proxy had required the password, it has accepted it; it may not have
    /// looked at credentials that were sent ahead.
    pub(crate) fn refused_otherwise(&mut self) -> Option<Blame> {
        let blame = match self.answers {
            0 => self.clearance.report(Outcome::Unknown),
            _ => self.accept(None, None),
        };
        self.resume(blame)
    }

    /// Notes a refusal of the request for `target` that can't be answered; returns what it is about.
    pub(crate) fn refused(
        &mut self,
        failure: &AuthFailure,
        target: &HostPort,
        has_challenge: bool,
    ) -> Option<Blame> {
        let blame = self.clearance.report(match *failure {
            AuthFailure::Refused(scheme) => {
                self.only = Some(scheme);
                let refused = match scheme {
                    Scheme::Negotiate => Refused::Ticket,
                    _ if has_challenge => Refused::Password,
                    _ => Refused::Unchallenged,
                };
                Outcome::Refused(Some(target), refused)
            }
            AuthFailure::NoContext(_) => Outcome::Unsent,
            _ => Outcome::Unknown,
        });
        self.resume(blame)
    }

    /// Begins again for a check, without credentials: if the proxy doesn't require any, the check
    /// proves nothing.
    fn resume(&mut self, blame: Option<Blame>) -> Option<Blame> {
        if let Some(Blame::Unclear(_)) = blame {
            self.sent = Sent::Nothing;
            self.answers = 0;
            self.has_repeated = false;
        }
        blame
    }

    /// Returns how often this nonce was used in the last answers, as far as it is cached.
    fn uses(&self, nonce: &str) -> u32 {
        match (&self.sent, &*self.clearance.cache().cached()) {
            (Sent::Digest(session), _) if session.nonce() == nonce => session.uses(),
            (Sent::CachedDigest(cached), CachedAuth::Digest(session))
                if cached == nonce && session.nonce() == nonce =>
            {
                session.uses()
            }
            _ => 0,
        }
    }

    /// Returns why none of these challenges can be answered: ptunnel supports none of the schemes,
    /// or the user allows none of the supported ones.
    fn no_scheme(&self, challenges: &[Challenge]) -> AuthFailure {
        let mut known = challenges.iter().filter_map(Challenge::known).peekable();
        let is_known = known.peek().is_some();
        let schemes = self.clearance.cache().schemes();
        if is_known && known.all(|scheme| !schemes.allow(scheme)) {
            AuthFailure::NotAllowed
        } else {
            AuthFailure::Unsupported
        }
    }

    /// Chooses the strongest scheme with a password, in curl's order. Digest doesn't show the
    /// password. Nor does it, as NTLM does, show an answer made from a hash that can replace the password if it is
    /// known. After the first tunnel it costs one request instead of two, and it outlives a closed
    /// connection. `uses` is how often a nonce that the proxy repeats was used already.
    fn choose(&mut self, challenges: &[Challenge], target: &HostPort, uses: u32) -> Option<Answer> {
        let offer =
            Offer::strongest(challenges).filter(|_| self.offers(challenges, Scheme::Digest));
        let value = if let Some(offer) = offer {
            let mut session = Session::new(offer, self.clearance.credentials()?, uses)?;
            let value = session.answer(METHOD, &target.to_string());
            self.sent = Sent::Digest(Box::new(session));
            value
        } else if self.offers(challenges, Scheme::Ntlm) {
            self.sent = Sent::NtlmNegotiate;
            ntlm::negotiate()
        } else if self.offers(challenges, Scheme::Basic) {
            self.sent = Sent::Basic;
            basic(self.clearance.credentials()?)
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
        let value = challenge.answer(self.clearance.credentials()?)?;
        self.answers += 1;
        self.sent = Sent::NtlmAuthenticate;
        Some(Answer {
            value,
            is_bound: true,
        })
    }

    /// Begins a security context.
    ///
    /// # Errors
    ///
    /// Those of [`ContextSource::take`](super::ContextSource::take).
    fn negotiate(&mut self) -> Result<Secret, String> {
        let contexts = self.clearance.cache().contexts();
        let contexts = contexts.ok_or("Kerberos isn't set up for this proxy")?;
        let (context, token) = contexts.take()?;
        self.sent = Sent::Negotiate(context);
        Ok(negotiate::value(&token))
    }

    /// Goes on with a security context, on the same connection. A proxy that sends no token has
    /// refused the last one.
    fn answer_negotiate(
        &mut self,
        mut context: Box<dyn SecurityContext>,
        challenges: &[Challenge],
    ) -> Result<Answer, AuthFailure> {
        let refused = AuthFailure::Refused(Scheme::Negotiate);
        let token = negotiate::token(challenges).filter(|_| self.answers < MAX_ANSWERS);
        let next = context.step(&token.ok_or_else(|| refused.clone())?);
        let token = next.map_err(AuthFailure::NoContext)?.ok_or(refused)?;
        self.answers += 1;
        self.sent = Sent::Negotiate(context);
        Ok(Answer {
            value: negotiate::value(&token),
            is_bound: true,
        })
    }

    fn offers(&self, challenges: &[Challenge], scheme: Scheme) -> bool {
        let is_allowed = self.clearance.cache().schemes().allow(scheme)
            && self.only.map_or(true, |only| only == scheme);
        is_allowed && challenges.iter().any(|c| c.is(scheme))
    }

    /// Notes that the proxy granted `target`; `next_nonce` is the nonce that it suggests for the next
    /// request (RFC 7616 §3.5). Returns what that says about a refusal that is checked.
    pub(crate) fn granted(
        &mut self,
        target: &HostPort,
        next_nonce: Option<String>,
    ) -> Option<Blame> {
        let blame = self.accept(Some(target), next_nonce);
        self.resume(blame)
    }

    fn accept(&mut self, target: Option<&HostPort>, next_nonce: Option<String>) -> Option<Blame> {
        let evidence = match self.answers {
            0 => Evidence::Hint,
            _ => Evidence::Proof,
        };
        let granted = target.map(|target| (target, evidence));
        let blame = self.clearance.report(match (&self.sent, target) {
            (Sent::Nothing, Some(_)) | (Sent::NtlmNegotiate, Some(_)) => Outcome::Unneeded,
            (Sent::Nothing, None) | (Sent::NtlmNegotiate, None) => Outcome::Unknown,
            (Sent::Negotiate(_), _) => Outcome::AcceptedTicket(granted),
            _ => Outcome::Accepted(granted),
        });
        let accepted = match mem::replace(&mut self.sent, Sent::Nothing) {
            Sent::Digest(mut session) => {
                if let Some(nonce) = next_nonce {
                    session.renew(nonce);
                }
                CachedAuth::Digest(*session)
            }
            Sent::CachedDigest(nonce) => {
                if let CachedAuth::Digest(session) = &mut *self.clearance.cache().cached() {
                    // Another tunnel may have cached a newer one meanwhile.
                    let next = next_nonce.filter(|_| session.nonce() == nonce);
                    if let Some(next) = next {
                        session.renew(next);
                    }
                }
                return blame;
            }
            Sent::Basic if self.answers > 0 => CachedAuth::Basic,
            Sent::NtlmAuthenticate => CachedAuth::Ntlm,
            Sent::Negotiate(_) => CachedAuth::Negotiate,
            Sent::Basic | Sent::NtlmNegotiate | Sent::Nothing => return blame,
        };
        *self.clearance.cache().cached() = accepted;
        blame
    }
}
