//! Who we are to one proxy, and what it was learnt to want.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::digest::Session;
use super::lockout::{Lockout, Permission, Tell};
use crate::config::{Credentials, Schemes};

/// The credentials for one proxy, for all tunnels and threads together. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuthCache {
    shared: Arc<CacheParts>,
}

#[derive(Debug)]
struct CacheParts {
    credentials: Credentials,
    schemes: Schemes,
    learnt: Mutex<CachedAuth>,
    restraint: Mutex<Lockout>,
}

/// What the proxy took last: the next tunnel begins with it, and so needs one request.
#[derive(Debug)]
pub(super) enum CachedAuth {
    Nothing,
    Basic,
    /// Each answer counts a use of its nonce.
    Digest(Session),
    Ntlm,
}

impl AuthCache {
    /// Will answer with these credentials, in one of these schemes.
    pub fn new(credentials: Credentials, schemes: Schemes) -> AuthCache {
        AuthCache {
            shared: Arc::new(CacheParts {
                credentials,
                schemes,
                learnt: Mutex::new(CachedAuth::Nothing),
                restraint: Mutex::default(),
            }),
        }
    }

    pub(in crate::proto) fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }

    pub(super) fn schemes(&self) -> &Schemes {
        &self.shared.schemes
    }

    pub(super) fn learnt(&self) -> MutexGuard<'_, CachedAuth> {
        let learnt = self.shared.learnt.lock();
        learnt.unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for one tunnel whether it may send the password.
    pub(in crate::proto) fn clearance(&self) -> Clearance {
        Clearance {
            identity: self.clone(),
            is_only_one: false,
            is_decided: false,
        }
    }

    /// Whether a tunnel that begins now needn't wait: no other one is the first to send the
    /// password, and has yet to learn what the proxy makes of it. If there is one, what `tell` makes
    /// is called once that has changed.
    pub(crate) fn is_clear(&self, tell: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        self.restraint().is_clear(tell)
    }

    fn restraint(&self) -> MutexGuard<'_, Lockout> {
        let restraint = self.shared.restraint.lock();
        restraint.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One tunnel's permission to send the password.
#[derive(Debug)]
pub(in crate::proto) struct Clearance {
    identity: AuthCache,
    /// It is the first that sends it, or the one that tries it again after a refusal.
    is_only_one: bool,
    is_decided: bool,
}

impl Clearance {
    /// Asks for it.
    ///
    /// # Errors
    ///
    /// How much longer the password is withheld, because the proxy refused it.
    pub(in crate::proto) fn ask(&mut self) -> Result<(), Duration> {
        if self.is_only_one {
            return Ok(());
        }
        match self.identity.restraint().permission(Instant::now()) {
            Permission::Granted => Ok(()),
            Permission::First | Permission::Once => {
                self.is_only_one = true;
                Ok(())
            }
            Permission::Withheld(left) => Err(left),
        }
    }

    /// The proxy refused the password.
    pub(in crate::proto) fn refused(&mut self) {
        self.is_decided = true;
        let waiting = self.identity.restraint().refused(Instant::now());
        tell_all(waiting);
    }

    /// The proxy took it.
    pub(in crate::proto) fn accepted(&mut self) {
        self.is_decided = true;
        let waiting = self.identity.restraint().accepted();
        tell_all(waiting);
    }

    /// The proxy went on without it.
    pub(in crate::proto) fn unwanted(&mut self) {
        if self.is_only_one && !self.is_decided {
            self.is_decided = true;
            let waiting = self.identity.restraint().unwanted();
            tell_all(waiting);
        }
    }
}

impl Drop for Clearance {
    fn drop(&mut self) {
        if self.is_only_one && !self.is_decided {
            let waiting = self.identity.restraint().given_up();
            tell_all(waiting);
        }
    }
}

/// Without the lock, since they may ask at once.
fn tell_all(waiting: Vec<Tell>) {
    for tell in waiting {
        tell();
    }
}
