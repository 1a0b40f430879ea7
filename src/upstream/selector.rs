//! Chooses the candidates for each destination.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::health::PooledProxy;
use super::pac;
use super::pac_pools::PacPools;
use super::pool::{ProxyPool, SharedRoute};
use super::{Failover, ProxyChain, ProxyHealth, UpstreamPath};
use crate::config::{HostPort, Route, Timeouts};
use crate::error::Error;

/// A [`Route`] and the health of its proxies, for all tunnels and threads. Cheap to clone; clones
/// share the health.
#[derive(Clone, Debug)]
pub struct ProxySelector {
    route: Arc<SharedRoute>,
    choice: Choice,
    is_observer: bool,
}

#[derive(Clone, Debug)]
enum Choice {
    /// The same proxies for every destination.
    List(Arc<ProxyPool>),
    /// The proxies that a PAC file names.
    Pac(Arc<PacPools>),
}

/// The candidates for a destination, or the query that finds them.
pub enum Candidates {
    /// The candidates are known.
    Known(Failover),
    /// The query calls the PAC file that names them.
    Pac(PacQuery),
}

impl ProxySelector {
    /// Makes a selector that knows no failures.
    pub fn new(route: Route) -> ProxySelector {
        let route = Arc::new(SharedRoute::new(route));
        let Route {
            proxies, schemes, ..
        } = &route.route;
        let choice = match &route.route.pac {
            Some(pac) => Choice::Pac(Arc::new(PacPools::new(&route, pac.clone()))),
            None => {
                let is_last = proxies.is_empty() || route.route.direct_fallback;
                let direct_after = Some(proxies.len()).filter(|_| is_last);
                let proxies = proxies.iter().cloned();
                let proxies = proxies.map(|spec| Arc::new(PooledProxy::new(spec, schemes)));
                let pool = ProxyPool::new(&route, proxies.collect(), direct_after);
                Choice::List(Arc::new(pool))
            }
        };
        ProxySelector {
            route,
            choice,
            is_observer: false,
        }
    }

    /// Returns the route that the selector was made from.
    pub fn route(&self) -> &Route {
        &self.route.route
    }

    /// Returns a selector whose tunnels don't change the health of its proxies, nor log failures.
    pub(crate) fn for_observer(&self) -> ProxySelector {
        ProxySelector {
            is_observer: true,
            ..self.clone()
        }
    }

    /// Returns whether the proxies are a configured list, in which each has its index.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.choice, Choice::List(_))
    }

    /// Returns the health of each proxy: in the list's order, or of each that a PAC file has named.
    pub(crate) fn health(&self) -> Vec<(ProxyChain, ProxyHealth)> {
        match &self.choice {
            Choice::List(pool) => pool.health(),
            Choice::Pac(pools) => pools.health(),
        }
    }

    /// Returns the paths to `destination` in the order in which one client tries them now: through
    /// one proxy after the other, or directly if NO_PROXY matches.
    pub fn candidates(&self, destination: &HostPort) -> Candidates {
        let paths = match &self.choice {
            _ if self.route().is_direct(destination) => vec![UpstreamPath::DIRECTLY],
            Choice::List(pool) => pool.paths(self.is_observer),
            Choice::Pac(pools) => {
                return Candidates::Pac(PacQuery {
                    pools: pools.clone(),
                    destination: destination.clone(),
                    is_observer: self.is_observer,
                })
            }
        };
        Candidates::Known(Failover::new(paths, self.is_observer))
    }
}

/// A call of a PAC file for one client. Cheap to clone, and to send to another thread.
#[derive(Clone)]
pub struct PacQuery {
    pools: Arc<PacPools>,
    destination: HostPort,
    is_observer: bool,
}

impl PacQuery {
    /// Returns the file's path, escaped for messages.
    pub fn file(&self) -> &str {
        self.pools.pac.name()
    }

    /// Returns how long the call can take: the connect timeout, but at most [`pac::LONGEST`].
    pub fn limit(&self, timeouts: &Timeouts) -> Duration {
        timeouts.connect.min(pac::LONGEST)
    }

    /// Calls the file; returns its answer as text, and the paths that this names in the order in which
    /// one client tries them now. Blocks for at most `limit`.
    ///
    /// # Errors
    ///
    /// The script threw, the limit is over, or the answer is too long or names only proxies that
    /// ptunnel can't use.
    pub fn answer(&self, limit: Duration) -> Result<(String, Failover), Error> {
        let answer = self.pools.pac.ask(&self.destination, limit)?;
        let verdict = self.pools.pac.verdict(&self.destination, &answer)?;
        let paths = self.pools.pool(verdict).paths(self.is_observer);
        Ok((answer, Failover::new(paths, self.is_observer)))
    }

    /// Makes the error of a call that had no answer within the limit.
    pub fn late(&self, limit: Duration) -> Error {
        self.pools.pac.late(&self.destination, limit)
    }
}

impl fmt::Display for ProxySelector {
    /// `through proxy.example:3128`, with every proxy and every `via`, `as corp.pac says`, or
    /// `directly`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = self.route();
        if route.no_proxy.covers_everything() {
            return f.write_str("directly");
        }
        match &route.pac {
            Some(pac) => write!(f, "as {} says", pac.name)?,
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
    use super::*;
    use crate::config::{Family, Version};

    fn selector(proxies: &[&str], via: &[&str]) -> ProxySelector {
        let specs = |urls: &[&str]| urls.iter().map(|url| url.parse().unwrap()).collect();
        ProxySelector::new(Route {
            proxies: specs(proxies),
            via: specs(via),
            ..Route::default()
        })
    }

    fn chain(selector: &ProxySelector, index: usize) -> ProxyChain {
        match &selector.choice {
            Choice::List(pool) => pool.paths(false)[index].proxy().unwrap().clone(),
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn each_proxy_of_a_chain_is_asked_for_the_next_one() {
        let destination = "d:4".parse().unwrap();
        let selector = selector(&["a:1", "b:1"], &["joe:x@m:2", "socks5h://n:3"]);
        let chain = chain(&selector, 1);
        assert_eq!(chain.to_string(), "b:1 via m:2 via socks5h://n:3");
        let hops = (0..chain.hop_count()).map(|hop| chain.hop(hop, &destination));
        let hops: Vec<String> = hops
            .map(|hop| format!("{} for {}", hop.spec(), hop.target()))
            .collect();
        assert_eq!(
            hops,
            ["b:1 for m:2", "m:2 for n:3", "socks5h://n:3 for d:4"]
        );
    }

    #[test]
    fn a_socks_proxy_is_asked_for_an_address_if_ptunnel_looks_it_up() {
        let requested =
            |proxy: &str, destination: &str, found: &[&str]| -> Result<String, String> {
                let hop = chain(&selector(&[proxy], &[]), 0).hop(0, &destination.parse().unwrap());
                let found: Vec<_> = found.iter().map(|text| text.parse().unwrap()).collect();
                let hop = match hop.target_to_locate() {
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
            let why = "no IPv4 address, and socks4:// takes no other: try socks4a:// or socks5h://";
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

    /// `-6` found no address at all for a SOCKS4 proxy.
    #[test]
    fn the_configured_version_is_not_for_targets_of_a_socks4_proxy() {
        let version = |proxy: &str| {
            let selector = ProxySelector::new(Route {
                proxies: vec![proxy.parse().unwrap()],
                family: Family::V6,
                ..Route::default()
            });
            let hop = chain(&selector, 0).hop(0, &"d:22".parse().unwrap());
            hop.family().version
        };
        assert_eq!(version("socks4://p"), Version::Any);
        assert_eq!(version("socks5://p"), Version::V6);
    }

    #[test]
    fn each_proxy_of_a_chain_gets_its_own_credentials_only() {
        let destination = "d:4".parse().unwrap();
        let selector = selector(&["joe:x@a:1"], &["ann:y@m:2", "n:3"]);
        let chain = chain(&selector, 0);
        let said =
            |hop| String::from_utf8(chain.hop(hop, &destination).negotiation().begin()).unwrap();
        assert!(said(0).contains("Basic am9lOng=") && said(0).starts_with("CONNECT m:2 "));
        assert!(said(1).contains("Basic YW5uOnk=") && said(1).starts_with("CONNECT n:3 "));
        assert!(!said(2).contains("Basic") && said(2).starts_with("CONNECT d:4 "));
    }
}
