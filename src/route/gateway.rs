//! Which proxy is asked next: the list in its order, those that failed lately last.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Leg;
use crate::config::{HostPort, Protocol, ProxySpec, Route};
use crate::error::Error;
use crate::wire::auth::Identity;

/// How long a proxy that couldn't be used isn't asked first.
const AVOIDED: Duration = Duration::from_secs(30);

/// A [`Route`] and what was learnt of its proxies, for all tunnels and threads together.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    route: Route,
    /// Of the proxy of the same index.
    records: Vec<Record>,
    start: Instant,
}

/// What was learnt of one proxy.
#[derive(Debug)]
struct Record {
    /// Milliseconds after `start`.
    avoided_until: AtomicU64,
    /// Who we are to it, and how it wants to hear that.
    identity: Option<Identity>,
}

impl Gateway {
    /// A gateway that has learnt nothing yet.
    pub fn new(route: Route) -> Gateway {
        let identity = |proxy: &ProxySpec| {
            if proxy.protocol != Protocol::Http {
                return None;
            }
            let credentials = proxy.credentials.clone()?;
            Some(Identity::new(credentials, route.schemes.clone()))
        };
        let records = route.proxies.iter().map(|proxy| Record {
            avoided_until: AtomicU64::new(0),
            identity: identity(proxy),
        });
        let records = records.collect();
        Gateway {
            shared: Arc::new(Shared {
                route,
                records,
                start: Instant::now(),
            }),
        }
    }

    /// What it was made from.
    pub fn route(&self) -> &Route {
        &self.shared.route
    }

    /// The proxies in the order in which they shall be asked now.
    pub fn order(&self) -> Vec<Candidate> {
        let now = self.now();
        let mut order: Vec<Candidate> = (0..self.shared.records.len())
            .map(|index| Candidate {
                gateway: self.clone(),
                index,
            })
            .collect();
        // Stable: within each half the list's own order stays.
        order.sort_by_key(|candidate| candidate.avoided_until().load(Ordering::Relaxed) > now);
        order
    }

    fn now(&self) -> u64 {
        self.shared.start.elapsed().as_millis() as u64
    }
}

/// One proxy of a gateway, and how it is asked.
#[derive(Clone, Debug)]
pub struct Candidate {
    gateway: Gateway,
    index: usize,
}

impl Candidate {
    /// Where it is, and who we are to it.
    pub fn spec(&self) -> &ProxySpec {
        &self.gateway.route().proxies[self.index]
    }

    /// What it is asked for, for a tunnel to `destination`.
    pub fn leg(&self, destination: &HostPort) -> Leg {
        Leg::new(self.clone(), destination.clone())
    }

    pub(super) fn route(&self) -> &Route {
        self.gateway.route()
    }

    /// Who we are to it, where HTTP is spoken.
    pub(super) fn identity(&self) -> Option<&Identity> {
        self.record().identity.as_ref()
    }

    /// It couldn't be used: others first, for a while, unless the fault was ours.
    pub fn blame(&self, error: &Error) {
        if error.is_no_proxys_fault() {
            return;
        }
        let until = self.gateway.now() + AVOIDED.as_millis() as u64;
        self.avoided_until().store(until, Ordering::Relaxed);
    }

    /// It could.
    pub fn trust(&self) {
        self.avoided_until().store(0, Ordering::Relaxed);
    }

    fn avoided_until(&self) -> &AtomicU64 {
        &self.record().avoided_until
    }

    fn record(&self) -> &Record {
        &self.gateway.shared.records[self.index]
    }
}
