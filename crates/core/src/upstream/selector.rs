//! Chooses the pool of proxies for each destination.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::health::Health;
use super::pac::{FetchReport, Pac};
use super::pac_pools::PacPools;
use super::pool::ProxyPool;
use super::pooled_proxy::PooledProxy;
use super::{Lookup, Prober, ProxyHealth};
use crate::config::{ProxySpec, Route};
use crate::error::{Error, Peer};
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::HostPort;

/// A [`Route`] and the health of its proxies, for all tunnels and threads.
#[derive(Debug)]
pub struct ProxySelector {
    route: Route,
    /// The proxies of `route.via`.
    via: Vec<Arc<PooledProxy>>,
    /// The proxies of `route.proxies`.
    pool: Arc<ProxyPool>,
    /// The pool without a proxy, for a destination that is reached directly.
    direct: Arc<ProxyPool>,
    /// Set if a PAC file names the proxies, instead of `route.proxies`.
    pac: Option<(Pac, Mutex<PacPools>)>,
    /// Set for the clients of listeners, until a reload replaces the selector.
    prober: Mutex<Option<Prober>>,
}

/// The health of proxies by their names.
pub(super) type HealthByName = HashMap<String, Arc<Health>>;

impl ProxySelector {
    /// Makes a selector without recorded failures, and starts to fetch a PAC file by URL. If the first
    /// fetch fails, tunnels do, with the reason.
    pub fn new(route: Route) -> Arc<ProxySelector> {
        ProxySelector::after(route, None, false, None)
    }

    /// Makes the first selector of listeners: as [`new`](ProxySelector::new), but a failure of the
    /// first fetch is logged before a client connects, and proxies that are down are probed.
    pub(crate) fn first(route: Route, prober: Prober) -> Arc<ProxySelector> {
        ProxySelector::after(route, None, true, Some(prober))
    }

    /// Makes the selector that replaces `former` in a reload, with what is known about the same proxies.
    /// Waits until a PAC file by URL was fetched; if it can't be, and the URL is the same, its script
    /// stays in force.
    ///
    /// # Errors
    ///
    /// A usage error if a new URL couldn't be fetched.
    pub(crate) fn replacing(
        route: Route,
        former: &ProxySelector,
        prober: Prober,
    ) -> Result<Arc<ProxySelector>, Error> {
        let selector = ProxySelector::after(route, Some(former), false, Some(prober));
        if let Some((pac, _)) = &selector.pac {
            pac.settle(former.pac.as_ref().map(|(pac, _)| pac))?;
        }
        Ok(selector)
    }

    fn after(
        route: Route,
        former: Option<&ProxySelector>,
        logs_first: bool,
        prober: Option<Prober>,
    ) -> Arc<ProxySelector> {
        let known = former.map_or_else(HashMap::new, ProxySelector::health_by_name);
        let pooled = |specs: &[ProxySpec], known: &HealthByName| -> Vec<Arc<PooledProxy>> {
            let pooled = specs.iter().map(|spec| {
                let health = known.get(&spec.to_string()).cloned();
                PooledProxy::new(spec.clone(), &route.schemes, health.unwrap_or_default())
            });
            pooled.map(Arc::new).collect()
        };
        let direct_after = Some(route.proxies.len()).filter(|_| route.direct_fallback);
        let pool = ProxyPool::new(pooled(&route.proxies, &known), direct_after);
        let former = former.and_then(|former| former.pac.as_ref());
        let pac = route.pac.clone().map(|file| {
            let pac = Pac::new(file, former.map(|(pac, _)| pac), logs_first);
            (pac, Mutex::new(PacPools::new(known)))
        });
        Arc::new(ProxySelector {
            via: pooled(&route.via, &HashMap::new()),
            pool: Arc::new(pool),
            direct: Arc::new(ProxyPool::new(Vec::new(), Some(0))),
            pac,
            prober: Mutex::new(prober),
            route,
        })
    }

    /// Returns the health of the first proxies of chains.
    fn health_by_name(&self) -> HealthByName {
        let all = self.first_proxies().into_iter();
        all.map(|proxy| (proxy.spec.to_string(), proxy.health.clone()))
            .collect()
    }

    fn first_proxies(&self) -> Vec<Arc<PooledProxy>> {
        match &self.pac {
            None => self.pool.proxies.clone(),
            Some((_, pools)) => lock(pools).proxies().cloned().collect(),
        }
    }

    /// Returns the route that the selector was made from.
    pub fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn via(&self) -> &[Arc<PooledProxy>] {
        &self.via
    }

    /// Returns the first proxy of a chain as errors name it.
    pub(super) fn peer(&self, proxy: &ProxySpec) -> Peer {
        match self.pac {
            Some(_) => Peer::Named(proxy.address.clone()),
            None => Peer::Proxy(proxy.address.clone()),
        }
    }

    /// Starts to probe a proxy if it is down: after its pause, or with `is_due` at once.
    pub(super) fn probe(&self, proxy: &Arc<PooledProxy>, is_due: bool) {
        if let Some(prober) = &*lock(&self.prober) {
            prober.probe(proxy, &self.route, is_due);
        }
    }

    /// Probes the proxies that were down before the selector was made.
    pub(crate) fn probe_all(&self) {
        for proxy in self.first_proxies() {
            self.probe(&proxy, true);
        }
    }

    /// Returns whether the proxies are a configured list, in which each has its index.
    pub(crate) fn is_listed(&self) -> bool {
        self.pac.is_none()
    }

    /// Returns the name of each chain and the health of its first proxy: in the list's order, or of
    /// each that a PAC file has named.
    pub(crate) fn health(&self) -> Vec<(String, ProxyHealth)> {
        let mut health: Vec<(String, ProxyHealth)> = match &self.pac {
            None => self.pool.health(Instant::now()).collect(),
            Some((_, pools)) => lock(pools).health(Instant::now()).into_iter().collect(),
        };
        for (name, _) in &mut health {
            for proxy in &self.route.via {
                *name += &format!(" via {}", proxy);
            }
        }
        health
    }

    /// Ends the threads that fetch a PAC file by URL and probe proxies: new tunnels have another selector.
    pub(crate) fn retire(&self) {
        if let Some((pac, _)) = &self.pac {
            pac.stop();
        }
        *lock(&self.prober) = None;
        for proxy in self.first_proxies() {
            proxy.health.stop_probing(Instant::now());
        }
    }

    /// Returns the name of the PAC file, and its fetches if it is by URL.
    pub(crate) fn pac_report(&self) -> Option<(String, Option<FetchReport>)> {
        let (pac, _) = self.pac.as_ref()?;
        Some((pac.name().into(), pac.report()))
    }

    /// Returns the pool that leads to `destination`, without a proxy if NO_PROXY matches; `None` if
    /// [`evaluate_pac`](ProxySelector::evaluate_pac) must find it.
    pub(super) fn pool(&self, destination: &HostPort) -> Option<&Arc<ProxyPool>> {
        if self.route.is_direct(destination) {
            return Some(&self.direct);
        }
        Some(&self.pool).filter(|_| self.pac.is_none())
    }

    /// Evaluates the PAC file; returns its answer as text, and the pool for this answer. Blocks for
    /// at most `limit`.
    ///
    /// # Errors
    ///
    /// The script threw, the limit is over, or the answer is too long or names only proxies that
    /// ptunnel can't use.
    pub(super) fn evaluate_pac(
        &self,
        destination: &Lookup<'_>,
        limit: Duration,
    ) -> Result<(String, Arc<ProxyPool>), Error> {
        let (pac, pools) = self.pac();
        let answer = pac.ask(destination, limit)?;
        let verdict = pac.verdict(destination.address, &answer)?;
        let pool = lock(pools).pool(verdict, pac.name(), &self.route);
        for proxy in &pool.proxies {
            self.probe(proxy, true); // if it was down before a reload
        }
        Ok((answer, pool))
    }

    /// Makes the error of a PAC file that didn't answer within the limit.
    pub(super) fn pac_late(&self, destination: &HostPort, limit: Duration) -> Error {
        self.pac().0.late(destination, limit)
    }

    fn pac(&self) -> &(Pac, Mutex<PacPools>) {
        self.pac.as_ref().expect("the proxies aren't a list")
    }
}

impl fmt::Display for ProxySelector {
    /// `through proxy.example:3128`, with every proxy and every `via`, `by PAC file corp.pac`, or
    /// `directly`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = self.route();
        if route.no_proxy.covers_everything() {
            return f.write_str("directly");
        }
        match &route.pac {
            Some(pac) => write!(f, "by PAC file {}", pac.name)?,
            None if route.proxies.is_empty() => return f.write_str("directly"),
            None => {}
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

#[cfg(test)]
mod tests {
    use std::iter;

    use super::super::{ChosenBy, Hop, ProxyChain, Tunnel};
    use super::*;
    use crate::config::{Family, Timeouts, Version};

    fn selector(proxies: &[&str], via: &[&str]) -> Arc<ProxySelector> {
        let specs = |urls: &[&str]| urls.iter().map(|url| url.parse().unwrap()).collect();
        ProxySelector::new(Route {
            proxies: specs(proxies),
            via: specs(via),
            ..Route::default()
        })
    }

    /// Returns the hops of a chain, first to last.
    fn hops(selector: &Arc<ProxySelector>, index: usize, destination: &str) -> Vec<Hop> {
        hops_for(
            &Tunnel::new(destination.parse::<HostPort>().unwrap(), selector),
            index,
        )
    }

    fn hops_for(tunnel: &Tunnel, index: usize) -> Vec<Hop> {
        let selector = tunnel.selector();
        let chain = ProxyChain::new(selector, &selector.pool, index, false);
        let last = chain.last_hop(tunnel);
        let mut hops: Vec<Hop> = iter::successors(last, Hop::previous).collect();
        hops.reverse();
        hops
    }

    #[test]
    fn each_proxy_of_a_chain_gets_a_request_for_the_next_one() {
        let selector = selector(&["a:1", "b:1"], &["joe:x@m:2", "socks5h://n:3"]);
        let chain = ProxyChain::new(&selector, &selector.pool, 1, false);
        let expected = "through b:1 via m:2 via socks5h://n:3";
        assert_eq!(chain.to_string(), expected);
        let hops: Vec<String> = hops(&selector, 1, "d:4")
            .iter()
            .map(|hop| format!("{} for {}", hop.spec(), hop.target()))
            .collect();
        assert_eq!(
            hops,
            ["b:1 for m:2", "m:2 for n:3", "socks5h://n:3 for d:4"]
        );
    }

    #[test]
    fn a_socks_proxy_gets_an_address_if_ptunnel_resolves_the_name() {
        let requested =
            |proxy: &str, destination: &str, found: &[&str]| -> Result<String, String> {
                let hop = hops(&selector(&[proxy], &[]), 0, destination).remove(0);
                let found: Vec<_> = found.iter().map(|text| text.parse().unwrap()).collect();
                let hop = match hop.target_lookup() {
                    Some(_) => hop.at(&found).map_err(|e| e.to_string())?,
                    None => hop,
                };
                Ok(hop.requested().to_string())
            };
        let both: &[&str] = &["[::1]:22", "127.0.0.1:22"];
        for (proxy, expected) in &[
            ("p:1", "d:22"),
            ("socks5h://p", "d:22"),
            ("socks4a://p", "d:22"),
            ("socks5://p", "[::1]:22"),
            ("socks4://p", "127.0.0.1:22"),
        ] {
            assert_eq!(requested(proxy, "d:22", both), Ok(expected.to_string()));
            let literal = requested(proxy, "192.0.2.7:22", &[]);
            assert_eq!(literal, Ok("192.0.2.7:22".to_string()));
        }
        for destination in &["d:22", "[::1]:22"] {
            let why = "no IPv4 address, which socks4:// requires; use socks4a:// or socks5h://";
            let refused = requested("socks4://p", destination, &both[..1]).unwrap_err();
            let expected = format!("cannot resolve {}: {}", destination, why);
            assert_eq!(refused, expected);
        }
        // An IPv4-mapped address counts as IPv4.
        let mapped = "[::ffff:192.0.2.7]:22";
        assert_eq!(requested("socks4://p", mapped, &[]), Ok(mapped.to_string()));
        let literal = requested("socks4a://p", "[::1]:22", &[]);
        assert_eq!(literal, Ok("[::1]:22".to_string()));
    }

    /// Regression: the destination that a client chose counted as the configuration's.
    #[test]
    fn of_the_names_on_a_path_a_client_chooses_only_the_destination() {
        let selector = selector(&["socks5://a"], &["socks4://m"]);
        let address: HostPort = "d:1".parse().unwrap();
        let chosen = Tunnel::chosen_by_client(address.clone(), &selector, false);
        for (tunnel, expected) in &[
            (chosen, ChosenBy::CLIENT),
            (Tunnel::new(address, &selector), ChosenBy::CONFIGURATION),
        ] {
            let hops = hops_for(tunnel, 0);
            let targets = hops.iter().filter_map(Hop::target_lookup);
            let lookups = Some(hops[0].lookup()).into_iter().chain(targets);
            let lookups = lookups.chain(Some(tunnel.lookup()));
            let found: Vec<_> = lookups
                .map(|lookup| (lookup.address.to_string(), lookup.chosen_by))
                .collect();
            let of = |name: &str, chosen_by| (name.to_string(), chosen_by);
            assert_eq!(
                found,
                [
                    of("a:1080", ChosenBy::CONFIGURATION),
                    of("m:1080", ChosenBy::CONFIGURATION),
                    of("d:1", *expected),
                    of("d:1", *expected)
                ]
            );
        }
    }

    /// Regression: with `-6`, no address at all was found for a SOCKS4 proxy.
    #[test]
    fn the_configured_version_is_not_for_targets_of_a_socks4_proxy() {
        let version = |proxy: &str| {
            let selector = ProxySelector::new(Route {
                proxies: vec![proxy.parse().unwrap()],
                family: Family::V6,
                ..Route::default()
            });
            let hop = hops(&selector, 0, "d:22").remove(0);
            hop.target_lookup().unwrap().family.version
        };
        assert_eq!(version("socks4://p"), Version::Any);
        assert_eq!(version("socks5://p"), Version::V6);
    }

    #[test]
    fn each_proxy_of_a_chain_gets_its_own_credentials_only() {
        let hops = hops(&selector(&["joe:x@a:1"], &["ann:y@m:2", "n:3"]), 0, "d:4");
        let said = |hop: usize| String::from_utf8(hops[hop].negotiation().begin()).unwrap();
        assert!(said(0).contains("Basic am9lOng=") && said(0).starts_with("CONNECT m:2 "));
        assert!(said(1).contains("Basic YW5uOnk=") && said(1).starts_with("CONNECT n:3 "));
        assert!(!said(2).contains("Basic") && said(2).starts_with("CONNECT d:4 "));
    }

    /// Regression: after a reload, the first client waited again for a proxy that was known to be down, and
    /// its counters were added up elsewhere.
    #[test]
    fn a_reload_keeps_what_is_known_about_its_proxies() {
        let mut route = Route {
            proxies: vec!["a:1".parse().unwrap(), "b:1".parse().unwrap()],
            ..Route::default()
        };
        let first = ProxySelector::new(route.clone());
        let health = |selector: &ProxySelector, index: usize| selector.health()[index].1;
        first.pool.proxies[0].health.failed(Instant::now(), true);
        first.pool.answered(1);
        route.proxies = vec!["b:1".parse().unwrap(), "a:1".parse().unwrap()];
        let prober = Prober::new(&Arc::default(), &Timeouts::DEFAULT); // no listener is open
        let second = ProxySelector::replacing(route.clone(), &first, prober.clone()).unwrap();
        assert_eq!(
            (health(&second, 0).answers, health(&second, 1).failures),
            (1, 1)
        );
        assert!(health(&second, 1).is_down && health(&second, 1).is_avoided);
        route.proxies.pop();
        let third = ProxySelector::replacing(route.clone(), &second, prober.clone()).unwrap();
        route.proxies.push("a:1".parse().unwrap());
        let fourth = ProxySelector::replacing(route, &third, prober).unwrap();
        assert_eq!(
            (health(&fourth, 0).answers, health(&fourth, 1).failures),
            (1, 0)
        );
    }
}
