//! Which proxy is asked next, and what is known of each.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use log::warn;

use super::memory::{Memory, Standing};
use super::Leg;
use crate::config::{Family, HostPort, Protocol, ProxySpec, Route};
use crate::error::{Error, Peer};
use crate::wire::auth::Identity;

/// A [`Route`] and what was learnt of its proxies, for all tunnels and threads together.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    route: Route,
    /// Who we are to the proxy of the same index, and how it wants to hear that.
    identities: Vec<Option<Identity>>,
    /// The same for those behind it.
    via: Vec<Option<Identity>>,
    memory: Memory,
    /// When its time began.
    start: Instant,
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
        let identities = route.proxies.iter().map(identity).collect();
        let via = route.via.iter().map(identity).collect();
        let memory = Memory::of(route.proxies.len());
        Gateway {
            shared: Arc::new(Shared {
                route,
                identities,
                via,
                memory,
                start: Instant::now(),
            }),
        }
    }

    /// What it was made from.
    pub fn route(&self) -> &Route {
        &self.shared.route
    }

    /// The proxies in the order in which one client shall ask them now.
    pub fn order(&self) -> Vec<Candidate> {
        self.candidates(self.shared.memory.order(self.now()))
    }

    /// The same for somebody who neither [blames](Candidate::blame) nor
    /// [trusts](Candidate::trust), and so shall not take the turn of a client who does.
    pub(super) fn order_for_onlooker(&self) -> Vec<Candidate> {
        self.candidates(self.shared.memory.sorted(self.now()))
    }

    fn candidates(&self, order: Vec<usize>) -> Vec<Candidate> {
        let order = order.into_iter();
        order.map(|index| self.candidate(index)).collect()
    }

    fn candidate(&self, index: usize) -> Candidate {
        Candidate {
            gateway: self.clone(),
            index,
        }
    }

    /// What was learnt of each proxy, in the list's order.
    pub(crate) fn standings(&self) -> impl Iterator<Item = (Candidate, Standing)> + '_ {
        let (memory, now) = (&self.shared.memory, self.now());
        let all = 0..self.route().proxies.len();
        all.map(move |index| (self.candidate(index), memory.standing(index, now)))
    }

    fn now(&self) -> u64 {
        self.shared.start.elapsed().as_millis() as u64
    }
}

impl fmt::Display for Gateway {
    /// `through proxy.example:3128`, with every proxy and those behind it, or `directly`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = self.route();
        if route.proxies.is_empty() || route.no_proxy.covers_everything() {
            return f.write_str("directly");
        }
        for (index, proxy) in route.proxies.iter().enumerate() {
            let before = if index == 0 { "through" } else { "," };
            write!(f, "{} {}", before, proxy)?;
        }
        if route.proxies.len() > 1 && !route.via.is_empty() {
            f.write_str(", each")?;
        }
        let mut behind = route.via.iter();
        behind.try_for_each(|proxy| write!(f, " via {}", proxy))
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
            None => &self.gateway.shared.identities[self.index],
            Some(index) => &self.gateway.shared.via[index],
        };
        identity.as_ref()
    }

    /// It couldn't be used: others first, for a while, unless the fault was ours.
    pub fn blame(&self, error: &Error) {
        let (shared, now) = (&self.gateway.shared, self.gateway.now());
        if !error.is_no_proxys_fault() {
            shared.memory.failed(self.index, now);
        }
    }

    /// It could; when another one was in use before, the log says so.
    pub fn trust(&self) {
        if self.gateway.shared.memory.worked(self.index) {
            let until = if self.index == 0 { "again" } else { "for now" };
            warn!("new tunnels go through {} {}", self, until);
        }
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
