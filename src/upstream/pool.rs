//! Proxies in the order in which they are tried, and each of them as a way to a destination.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use log::warn;

use super::health::{Memory, ProxyHealth, Record};
use super::{Hop, UpstreamPath};
use crate::config::{Family, HostPort, ProxySpec, Route, Schemes};
use crate::error::{Error, Peer};
use crate::proto::auth::AuthCache;

/// One proxy: where it is, who we are to it, and how it wants to hear that.
#[derive(Debug)]
pub(super) struct PooledProxy {
    pub(super) spec: ProxySpec,
    /// Where there is a password.
    identity: Option<AuthCache>,
}

impl PooledProxy {
    pub(super) fn new(spec: ProxySpec, schemes: &Schemes) -> PooledProxy {
        let credentials = spec.credentials.clone();
        let credentials = credentials.filter(|_| spec.protocol.has_password());
        let identity = credentials.map(|credentials| AuthCache::new(credentials, schemes.clone()));
        PooledProxy { spec, identity }
    }
}

/// What all ways of a gateway have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) route: Route,
    /// Those behind whichever proxy comes first.
    via: Vec<PooledProxy>,
    /// When its time began.
    start: Instant,
}

impl Common {
    pub(super) fn new(route: Route) -> Common {
        let via = route.via.iter().cloned();
        Common {
            via: via
                .map(|spec| PooledProxy::new(spec, &route.schemes))
                .collect(),
            route,
            start: Instant::now(),
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

/// A proxy that is in some lineups, with what is remembered of it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Known {
    hop: Arc<PooledProxy>,
    record: Arc<Record>,
}

impl From<PooledProxy> for Known {
    /// Nothing is remembered of it yet.
    fn from(hop: PooledProxy) -> Known {
        Known {
            hop: Arc::new(hop),
            record: Arc::default(),
        }
    }
}

/// Proxies in the order in which they are tried, and when the destination itself is.
#[derive(Debug)]
pub(super) struct ProxyPool {
    common: Arc<Common>,
    hops: Vec<Arc<PooledProxy>>,
    memory: Memory,
}

impl ProxyPool {
    /// Of these proxies, with the destination itself after so many of them, if at all.
    pub(super) fn new(
        common: &Arc<Common>,
        proxies: Vec<Known>,
        direct_after: Option<usize>,
    ) -> ProxyPool {
        let (hops, records) = proxies
            .into_iter()
            .map(|known| (known.hop, known.record))
            .unzip();
        ProxyPool {
            common: common.clone(),
            hops,
            memory: Memory::of(records, direct_after),
        }
    }

    /// The ways in the order in which one client shall try them now; an onlooker tells nobody how they
    /// fared, and so shall not take the turn of a client who does.
    pub(super) fn ways(self: &Arc<ProxyPool>, is_onlooker: bool) -> Vec<UpstreamPath> {
        let now = self.common.now();
        let mut proxies: Vec<ProxyChain> = (0..self.hops.len())
            .map(|place| self.candidate(place))
            .collect();
        let place = |proxy: &ProxyChain| proxy.place;
        if is_onlooker {
            self.memory.sort(&mut proxies, place, now);
        } else {
            self.memory.order(&mut proxies, place, now);
        }
        // In the same memory.
        let mut ways: Vec<UpstreamPath> = proxies.into_iter().map(UpstreamPath::through).collect();
        if let Some(count) = self.memory.direct_after() {
            ways.insert(count, UpstreamPath::DIRECTLY);
        }
        ways
    }

    fn candidate(self: &Arc<ProxyPool>, place: usize) -> ProxyChain {
        let lineup = self.clone();
        ProxyChain { lineup, place }
    }

    /// What was learnt of each proxy, in their order.
    pub(super) fn standings(self: &Arc<ProxyPool>) -> Vec<(ProxyChain, ProxyHealth)> {
        let now = self.common.now();
        let standing = |place| (self.candidate(place), self.memory.standing(place, now));
        (0..self.hops.len()).map(standing).collect()
    }
}

/// One proxy of a lineup, with those behind it: a way that may be tried.
#[derive(Clone, Debug)]
pub struct ProxyChain {
    lineup: Arc<ProxyPool>,
    place: usize,
}

impl ProxyChain {
    /// The proxy that we connect to: where it is, and who we are to it.
    pub fn spec(&self) -> &ProxySpec {
        self.proxy(0)
    }

    /// How errors call it.
    pub fn peer(&self) -> Peer {
        let address = self.spec().address.clone();
        match self.route().pac {
            Some(_) => Peer::Named(address),
            None => Peer::Proxy(address),
        }
    }

    /// Which of its addresses are tried.
    pub fn family(&self) -> Family {
        self.route().family
    }

    /// How many proxies are asked on this way.
    pub fn hop_count(&self) -> usize {
        1 + self.route().via.len()
    }

    /// What the proxy behind so many others on this way is asked for: the next one, and the last
    /// of them for the destination.
    pub fn hop(&self, hop: usize, destination: &HostPort) -> Hop {
        let next = self.route().via.get(hop);
        let target = next.map_or(destination, |proxy| &proxy.address);
        Hop::new(self.clone(), hop, target.clone())
    }

    /// All of these, in their order.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        (0..self.hop_count()).map(move |hop| self.proxy(hop))
    }

    pub(super) fn route(&self) -> &Route {
        &self.lineup.common.route
    }

    pub(super) fn proxy(&self, index: usize) -> &ProxySpec {
        &self.pooled(index).spec
    }

    /// Who we are to it, where there is a password.
    pub(super) fn identity(&self, index: usize) -> Option<&AuthCache> {
        self.pooled(index).identity.as_ref()
    }

    fn pooled(&self, index: usize) -> &PooledProxy {
        match index.checked_sub(1) {
            None => &self.lineup.hops[self.place],
            Some(behind) => &self.lineup.common.via[behind],
        }
    }

    /// Whether the next proxy may be tried after this error: it is the refusal of this proxy, not of
    /// one behind it, with a status that the user named.
    pub(super) fn lets_others_try(&self, error: &Error) -> bool {
        let status = error.http_status_of(&self.peer());
        status.map_or(false, |status| self.route().failover_on.includes(status))
    }

    /// It couldn't be used: others first, for a while, unless the fault was ours.
    pub(super) fn blame(&self, error: &Error) {
        if !error.is_no_proxys_fault() {
            let now = self.lineup.common.now();
            self.lineup.memory.failed(self.place, now);
        }
    }

    /// It could; when another one was in use before, the log says so.
    pub(super) fn trust(&self) {
        if self.lineup.memory.worked(self.place) {
            let until = if self.place == 0 { "again" } else { "for now" };
            warn!("new tunnels go through {} {}", self, until);
        }
    }
}

impl fmt::Display for ProxyChain {
    /// `proxy.example:3128 via second.example:3128`, with every proxy on the way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)?;
        let mut via = self.route().via.iter();
        via.try_for_each(|proxy| write!(f, " via {}", proxy))
    }
}
