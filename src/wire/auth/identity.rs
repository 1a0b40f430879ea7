//! Who we are to one proxy, and what it was learnt to want.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::digest::Session;
use super::restraint::{Permission, Restraint};
use crate::config::{Credentials, Schemes};

/// The credentials for one proxy, for all tunnels and threads together. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Identity {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    credentials: Credentials,
    schemes: Schemes,
    learnt: Mutex<Learnt>,
    restraint: Mutex<Restraint>,
}

/// What the proxy took last: the next tunnel begins with it, and so needs one request.
#[derive(Debug)]
pub(super) enum Learnt {
    Nothing,
    Basic,
    /// Each answer counts a use of its nonce.
    Digest(Session),
    Ntlm,
}

impl Identity {
    /// Will answer with these credentials, in one of these schemes.
    pub fn new(credentials: Credentials, schemes: Schemes) -> Identity {
        Identity {
            shared: Arc::new(Shared {
                credentials,
                schemes,
                learnt: Mutex::new(Learnt::Nothing),
                restraint: Mutex::default(),
            }),
        }
    }

    pub(in crate::wire) fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }

    pub(super) fn schemes(&self) -> &Schemes {
        &self.shared.schemes
    }

    pub(super) fn learnt(&self) -> MutexGuard<'_, Learnt> {
        let learnt = self.shared.learnt.lock();
        learnt.unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for one tunnel whether it may send the password.
    pub(in crate::wire) fn clearance(&self) -> Clearance {
        Clearance {
            identity: self.clone(),
            is_retry: false,
        }
    }

    fn restraint(&self) -> MutexGuard<'_, Restraint> {
        let restraint = self.shared.restraint.lock();
        restraint.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One tunnel's permission to send the password.
#[derive(Debug)]
pub(in crate::wire) struct Clearance {
    identity: Identity,
    /// It is the one that tries a refused password again.
    is_retry: bool,
}

impl Clearance {
    /// Asks for it.
    ///
    /// # Errors
    ///
    /// How much longer the password is withheld, because the proxy refused it.
    pub(in crate::wire) fn ask(&mut self) -> Result<(), Duration> {
        if self.is_retry {
            return Ok(());
        }
        match self.identity.restraint().permission(Instant::now()) {
            Permission::Granted => Ok(()),
            Permission::Once => {
                self.is_retry = true;
                Ok(())
            }
            Permission::Withheld(left) => Err(left),
        }
    }

    /// The proxy refused the password.
    pub(in crate::wire) fn refused(&self) {
        self.identity.restraint().refused(Instant::now());
    }

    /// The proxy took it.
    pub(in crate::wire) fn accepted(&self) {
        self.identity.restraint().accepted();
    }
}
