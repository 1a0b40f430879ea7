//! The credentials for one proxy, and the scheme that it accepted last.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::digest::Session;
use super::lockout::Lockout;
use super::outcome::{Blame, Outcome, Permission, Role};
use super::ContextSource;
use crate::values::{Credentials, HostPort, PasswordCommand, Schemes, Secret};

/// The credentials for one proxy, shared by all tunnels and threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuthCache {
    state: Arc<AuthState>,
}

#[derive(Debug)]
struct AuthState {
    /// Those of the configuration. If they have a command, `printed` has the password.
    credentials: Option<Arc<Credentials>>,
    /// The credentials with the password that the command printed last.
    printed: Mutex<Option<Arc<Credentials>>>,
    /// For Negotiate, which needs no password.
    contexts: Option<Arc<dyn ContextSource>>,
    schemes: Schemes,
    cached: Mutex<CachedAuth>,
    lockout: Mutex<Lockout>,
}

/// The scheme that the proxy accepted last. The next tunnel begins with it, and so needs only one
/// request.
#[derive(Debug)]
pub(super) enum CachedAuth {
    Nothing,
    Basic,
    /// Each answer counts a use of its nonce.
    Digest(Session),
    /// Digest, with a password that has changed since: nothing is sent ahead.
    OldDigest,
    Ntlm,
    Negotiate,
}

impl AuthCache {
    /// Returns a cache that answers with these credentials, in one of these schemes.
    pub fn new(credentials: Credentials, schemes: Schemes) -> AuthCache {
        AuthCache::with_contexts(Some(credentials), None, schemes)
    }

    /// Returns a cache that answers with these credentials and with contexts from this source, in
    /// one of these schemes.
    pub fn with_contexts(
        credentials: Option<Credentials>,
        contexts: Option<Arc<dyn ContextSource>>,
        schemes: Schemes,
    ) -> AuthCache {
        AuthCache {
            state: Arc::new(AuthState {
                credentials: credentials.map(Arc::new),
                printed: Mutex::default(),
                contexts,
                schemes,
                cached: Mutex::new(CachedAuth::Nothing),
                lockout: Mutex::default(),
            }),
        }
    }

    pub(super) fn schemes(&self) -> &Schemes {
        &self.state.schemes
    }

    pub(super) fn contexts(&self) -> Option<&dyn ContextSource> {
        self.state.contexts.as_deref()
    }

    /// Returns whether the first request carries a token of Negotiate.
    pub(super) fn begins_with_negotiate(&self) -> bool {
        self.state.contexts.is_some()
            && match *self.cached() {
                CachedAuth::Nothing => self.state.schemes.send_negotiate_ahead(),
                CachedAuth::Negotiate => true,
                CachedAuth::Basic
                | CachedAuth::Digest(_)
                | CachedAuth::OldDigest
                | CachedAuth::Ntlm => false,
            }
    }

    pub(super) fn cached(&self) -> MutexGuard<'_, CachedAuth> {
        lock(&self.state.cached)
    }

    /// Returns whether a tunnel that begins now can start at once: no other tunnel is the only one to
    /// send the password and waits for the proxy's reply, and the password's command has ended, and a
    /// security context is ready. If not, the function that `wake` makes is called once that has
    /// changed.
    pub fn is_clear(&self, mut wake: impl FnMut() -> Box<dyn FnOnce() + Send>) -> bool {
        let since = self.lockout().stale_before(Instant::now());
        let is_known = |command: &PasswordCommand| command.is_ready(since, &mut wake);
        if !self.command().map_or(true, is_known) {
            return false;
        }
        let contexts = self.contexts().filter(|_| self.wants_context());
        contexts.map_or(true, |contexts| contexts.is_ready(&mut wake))
            && (self.state.credentials.is_none() || self.lockout().is_clear(wake))
    }

    /// Returns whether a tunnel that begins now waits for the password's command.
    fn wants_password(&self) -> bool {
        let since = self.lockout().stale_before(Instant::now());
        let command = self.command();
        command.map_or(false, |command| !command.is_known(since))
    }

    /// Returns how long a tunnel that begins now waits until it [can start](AuthCache::is_clear).
    pub fn patience(&self) -> Duration {
        if self.wants_password() {
            Duration::from_secs(11)
        } else if self.wants_context() {
            Duration::from_secs(10)
        } else {
            self.lockout().patience(Instant::now())
        }
    }

    /// Returns whether the next request should go without credentials, until the proxy requires them.
    pub(super) fn wants_proof(&self) -> bool {
        self.lockout().destinations.wants_proof()
    }

    fn command(&self) -> Option<&PasswordCommand> {
        self.state.credentials.as_ref()?.command()
    }

    /// Returns the credentials as they are now; `None` also if the command printed no password.
    pub fn credentials(&self) -> Option<Arc<Credentials>> {
        let given = self.state.credentials.as_ref()?;
        let password = match given.command() {
            Some(command) => command.password()?,
            None => return Some(given.clone()),
        };
        let mut printed = lock(&self.state.printed);
        match &*printed {
            Some(known) if known.password().reveal() == password => {}
            earlier => {
                if earlier.is_some() {
                    self.renew();
                }
                let new = Credentials::new(given.user(), Secret::new(password)).ok()?;
                *printed = Some(Arc::new(new));
            }
        }
        printed.clone()
    }

    /// Notes that the password has changed.
    fn renew(&self) {
        self.lockout().changed();
        let mut cached = self.cached();
        if let CachedAuth::Digest(_) = *cached {
            *cached = CachedAuth::OldDigest;
        }
    }

    /// Returns whether a tunnel with these credentials has the current password.
    fn is_current(&self, credentials: &Option<Arc<Credentials>>) -> bool {
        let printed = lock(&self.state.printed);
        match (&*printed, credentials) {
            (Some(printed), Some(own)) => Arc::ptr_eq(printed, own),
            _ => true,
        }
    }

    /// Returns whether a tunnel that begins now needs a security context, for which a KDC may have to
    /// reply: the proxy hasn't accepted another scheme.
    fn wants_context(&self) -> bool {
        let is_wanted = matches!(*self.cached(), CachedAuth::Nothing | CachedAuth::Negotiate);
        self.state.contexts.is_some() && is_wanted
    }

    fn lockout(&self) -> MutexGuard<'_, Lockout> {
        lock(&self.state.lockout)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One tunnel's permission to send the password.
#[derive(Debug)]
pub(crate) struct Clearance {
    cache: AuthCache,
    credentials: Option<Arc<Credentials>>,
    role: Role,
    withheld: Option<Duration>,
    begun: Instant,
}

impl Clearance {
    pub(crate) fn new(cache: AuthCache) -> Clearance {
        Clearance {
            credentials: cache.credentials(),
            cache,
            role: Role::Any,
            withheld: None,
            begun: Instant::now(),
        }
    }

    pub(super) fn cache(&self) -> &AuthCache {
        &self.cache
    }

    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_deref()
    }

    /// Returns whether the password's command printed none.
    pub(crate) fn has_failed(&self) -> bool {
        self.credentials.is_none() && self.cache.command().is_some()
    }

    /// Drops credentials that the proxy's protocol can't carry.
    pub(crate) fn retain(&mut self, fits: impl FnOnce(&Credentials) -> bool) {
        self.credentials = self.credentials.take().filter(|known| fits(known));
    }

    /// Requests the permission for a request for `target`; `None` if the password precedes it.
    ///
    /// # Errors
    ///
    /// How much longer the password is withheld, because the proxy refused it.
    pub(crate) fn request(&mut self, target: Option<&HostPort>) -> Result<(), Duration> {
        self.withheld = None;
        if self.role != Role::Any {
            return Ok(());
        }
        let permission = self.cache.lockout().permission(target, Instant::now());
        match permission {
            Permission::Granted => {}
            Permission::Sole => self.role = Role::Sole,
            Permission::Withheld(left) => self.withheld = Some(left),
        }
        self.withheld.map_or(Ok(()), Err)
    }

    /// Returns how much longer the password was withheld at the last request.
    pub(crate) fn withheld(&self) -> Option<Duration> {
        self.withheld
    }

    /// Returns for how much longer no credentials are sent for a destination that the proxy refused.
    pub(super) fn refused_for(&self, target: &HostPort) -> Option<Duration> {
        let lockout = self.cache.lockout();
        lockout.destinations.refused_for(target, Instant::now())
    }

    /// Gives a sole permission back: the password isn't sent.
    pub(super) fn give_back(&mut self) {
        if self.role == Role::Sole {
            self.report(Outcome::Unsent);
        }
    }

    /// Reports what was learned about the credentials; returns what a refusal is about. An old
    /// password says nothing about the current one.
    pub(crate) fn report(&mut self, outcome: Outcome<'_>) -> Option<Blame> {
        let role = mem::replace(&mut self.role, Role::Any);
        if !self.cache.is_current(&self.credentials) {
            return None;
        }
        let now = Instant::now();
        let took = now.saturating_duration_since(self.begun);
        let mut lockout = self.cache.lockout();
        let blame = lockout.report(role, outcome, took, now);
        if let Some(Blame::Unclear(check)) = &blame {
            self.role = Role::Check(check.clone());
        }
        let released = lockout.released();
        // Without the lock: they may request a permission at once.
        drop(lockout);
        released.into_iter().for_each(|wake| wake());
        blame
    }
}

impl Drop for Clearance {
    fn drop(&mut self) {
        if self.role != Role::Any {
            self.report(Outcome::NoReply);
        }
    }
}
