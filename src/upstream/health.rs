//! A proxy of a pool, and its health: the answers and failures so far.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::kerberos::Kerberos;
use crate::config::{Protocol, ProxySpec, Scheme, Schemes};
use crate::proto::auth::{AuthCache, ContextSource};

/// Milliseconds after a failure in which a proxy isn't tried first.
pub(super) const AVOIDED: u64 = 30_000;

/// A proxy, with its authentication state and its health, shared by all pools that contain it.
#[derive(Debug)]
pub(super) struct PooledProxy {
    pub(super) spec: ProxySpec,
    /// Set if the proxy's protocol takes a password and there is one, or Kerberos tickets are used.
    pub(super) auth: Option<AuthCache>,
    /// A time in milliseconds; 0 unless the proxy failed and hasn't answered since.
    avoided_until: AtomicU64,
    answers: AtomicU64,
    failures: AtomicU64,
}

/// The health of a proxy at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProxyHealth {
    /// Whether new tunnels go through it: its pool's latest answer came from it, and it is up.
    pub(crate) is_in_use: bool,
    /// Whether it failed, and hasn't answered since.
    pub(crate) is_down: bool,
    /// Whether it isn't tried first for now.
    pub(crate) is_avoided: bool,
    /// Number of answers, refusals included.
    pub(crate) answers: u64,
    /// Number of failures.
    pub(crate) failures: u64,
}

impl PooledProxy {
    pub(super) fn new(spec: ProxySpec, schemes: &Schemes) -> PooledProxy {
        let credentials = spec.credentials.clone();
        let credentials = credentials.filter(|_| spec.protocol.has_password());
        let has_ticket = spec.protocol == Protocol::Http && schemes.allow(Scheme::Negotiate);
        let contexts = Some(&spec.address.host).filter(|_| has_ticket);
        let contexts = contexts.map(|host| Arc::new(Kerberos::new(host)) as Arc<dyn ContextSource>);
        let has_auth = credentials.is_some() || contexts.is_some();
        let auth = AuthCache::with_contexts(credentials, contexts, schemes.clone());
        PooledProxy {
            auth: Some(auth).filter(|_| has_auth),
            spec,
            avoided_until: AtomicU64::default(),
            answers: AtomicU64::default(),
            failures: AtomicU64::default(),
        }
    }

    pub(super) fn is_down(&self) -> bool {
        self.avoided_until.load(Ordering::Relaxed) > 0
    }

    pub(super) fn is_avoided(&self, now: u64) -> bool {
        self.avoided_until.load(Ordering::Relaxed) > now
    }

    /// Returns whether a client can try this proxy first. Once the avoided time is over, a single
    /// client probes the proxy; for the others it is avoided again, until the probe's answer.
    pub(super) fn may_be_first(&self, now: u64) -> bool {
        match self.avoided_until.load(Ordering::Relaxed) {
            0 => true,
            // All other proxies are avoided, too.
            time if time > now => true,
            time => self
                .avoided_until
                .compare_exchange(time, now + AVOIDED, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok(),
        }
    }

    /// Counts a failure, and avoids the proxy for a while.
    pub(super) fn failed(&self, now: u64) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.avoided_until.store(now + AVOIDED, Ordering::Relaxed);
    }

    /// Counts an answer; the proxy is up.
    pub(super) fn worked(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.avoided_until.store(0, Ordering::Relaxed);
    }

    /// `is_current` says whether the pool's latest answer came from this proxy.
    pub(super) fn health(&self, is_current: bool, now: u64) -> ProxyHealth {
        let answers = self.answers.load(Ordering::Relaxed);
        let avoided_until = self.avoided_until.load(Ordering::Relaxed);
        let is_down = avoided_until > 0;
        ProxyHealth {
            is_in_use: is_current && answers > 0 && !is_down,
            is_down,
            is_avoided: avoided_until > now,
            answers,
            failures: self.failures.load(Ordering::Relaxed),
        }
    }
}
