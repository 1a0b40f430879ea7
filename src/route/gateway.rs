//! Which proxy is asked next: the list in its order, those that failed lately last.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Leg;
use crate::config::{Family, HostPort, Protocol, ProxySpec, Route};
use crate::error::{Error, Peer};
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
    /// Who we are to those behind it, likewise.
    via: Vec<Option<Identity>>,
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
        let via = route.via.iter().map(identity).collect();
        Gateway {
            shared: Arc::new(Shared {
                route,
                records,
                via,
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

/// One proxy of a gateway's list, with those behind it: a way that may be tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    gateway: Gateway,
    index: usize,
}

impl Candidate {
    /// The proxy that we connect to: where it is, and who we are to it.
    pub fn spec(&self) -> &ProxySpec {
        &self.gateway.route().proxies[self.index]
    }

    /// How errors call it.
    pub fn peer(&self) -> Peer {
        Peer::Proxy(self.spec().address.clone())
    }

    /// Which of its addresses are tried.
    pub fn family(&self) -> Family {
        self.route().family
    }

    /// How many proxies are asked on this way.
    pub fn hops(&self) -> usize {
        1 + self.route().via.len()
    }

    /// What the proxy behind so many others on this way is asked for: the next one, and the last
    /// of them for the destination.
    pub fn leg(&self, hop: usize, destination: &HostPort) -> Leg {
        let next = self.route().via.get(hop);
        let target = next.map_or(destination, |proxy| &proxy.address);
        Leg::new(self.clone(), hop, target.clone())
    }

    pub(super) fn route(&self) -> &Route {
        self.gateway.route()
    }

    pub(super) fn proxy(&self, hop: usize) -> &ProxySpec {
        match hop.checked_sub(1) {
            None => self.spec(),
            Some(index) => &self.route().via[index],
        }
    }

    /// Who we are to it, where HTTP is spoken.
    pub(super) fn identity(&self, hop: usize) -> Option<&Identity> {
        let identity = match hop.checked_sub(1) {
            None => &self.record().identity,
            Some(index) => &self.gateway.shared.via[index],
        };
        identity.as_ref()
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

impl fmt::Display for Candidate {
    /// `proxy.example:3128 via second.example:3128`, with every proxy on the way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)?;
        let mut via = self.route().via.iter();
        via.try_for_each(|proxy| write!(f, " via {}", proxy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(proxies: &[&str], via: &[&str]) -> Gateway {
        let specs = |urls: &[&str]| urls.iter().map(|url| url.parse().unwrap()).collect();
        Gateway::new(Route {
            proxies: specs(proxies),
            via: specs(via),
            ..Route::default()
        })
    }

    #[test]
    fn each_proxy_of_a_chain_is_asked_for_the_next_one() {
        let destination = "d:4".parse().unwrap();
        let gateway = gateway(&["a:1", "b:1"], &["joe:x@m:2", "socks5h://n:3"]);
        let way = &gateway.order()[1];
        assert_eq!(way.to_string(), "b:1 via m:2 via socks5h://n:3");
        let legs = (0..way.hops()).map(|hop| way.leg(hop, &destination));
        let legs: Vec<String> = legs
            .map(|leg| format!("{} for {}", leg.spec(), leg.target()))
            .collect();
        assert_eq!(
            legs,
            ["b:1 for m:2", "m:2 for n:3", "socks5h://n:3 for d:4"]
        );
    }

    /// The credentials of one are nobody else's business.
    #[test]
    fn each_proxy_of_a_chain_is_told_its_own_credentials() {
        let destination = "d:4".parse().unwrap();
        let gateway = gateway(&["joe:x@a:1"], &["ann:y@m:2", "n:3"]);
        let way = &gateway.order()[0];
        let said = |hop| String::from_utf8(way.leg(hop, &destination).exchange().begin()).unwrap();
        assert!(said(0).contains("Basic am9lOng=") && said(0).starts_with("CONNECT m:2 "));
        assert!(said(1).contains("Basic YW5uOnk=") && said(1).starts_with("CONNECT n:3 "));
        assert!(!said(2).contains("Basic") && said(2).starts_with("CONNECT d:4 "));
    }
}
