//! Who we are to one proxy, and what it was learnt to want.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::digest::Session;
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
            }),
        }
    }

    pub(super) fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }

    pub(super) fn schemes(&self) -> &Schemes {
        &self.shared.schemes
    }

    pub(super) fn learnt(&self) -> MutexGuard<'_, Learnt> {
        let learnt = self.shared.learnt.lock();
        learnt.unwrap_or_else(PoisonError::into_inner)
    }
}
