//! Which ways there are to a destination, and what is known of each.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::pac_pools::Named;
use super::pool::{Common, Known, PooledProxy, ProxyPool};
use super::{Failover, ProxyChain, ProxyHealth, UpstreamPath};
use crate::config::{HostPort, Route, Timeouts};
use crate::error::Error;
use crate::upstream::pac::{self, Pac};

/// A [`Route`] and what was learnt of its proxies, for all tunnels and threads together.
#[derive(Clone, Debug)]
pub struct ProxySelector {
    common: Arc<Common>,
    choice: Choice,
    is_onlooker: bool,
}

#[derive(Clone, Debug)]
enum Choice {
    /// The same for each destination.
    Listed(Arc<ProxyPool>),
    /// As the file says, for each.
    Decided(Arc<Pac>, Arc<Named>),
}

/// How to get to a destination.
pub enum Candidates {
    /// That is known.
    Known(Failover),
    /// The PAC file is to be asked.
    Asked(PacQuery),
}

impl ProxySelector {
    /// A gateway that has learnt nothing yet.
    pub fn new(route: Route) -> ProxySelector {
        let known = |spec| Known::from(PooledProxy::new(spec, &route.schemes));
        let proxies: Vec<Known> = route.proxies.iter().cloned().map(known).collect();
        let is_last = proxies.is_empty() || route.direct_fallback;
        let direct_after = Some(proxies.len()).filter(|_| is_last);
        let common = Arc::new(Common::new(route));
        let choice = match &common.route.pac {
            Some(pac) => Choice::Decided(Arc::new(Pac::new(pac.clone())), Arc::default()),
            None => Choice::Listed(Arc::new(ProxyPool::new(&common, proxies, direct_after))),
        };
        ProxySelector {
            common,
            choice,
            is_onlooker: false,
        }
    }

    /// What it was made from.
    pub fn route(&self) -> &Route {
        &self.common.route
    }

    /// The same for somebody who tells nobody how the ways fared.
    pub(crate) fn for_observer(&self) -> ProxySelector {
        ProxySelector {
            is_onlooker: true,
            ..self.clone()
        }
    }

    /// Whether its proxies are those of a list, in which each has its place.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.choice, Choice::Listed(_))
    }

    /// What was learnt of each proxy, in the list's order, or of each that was named so far.
    pub(crate) fn health(&self) -> Vec<(ProxyChain, ProxyHealth)> {
        match &self.choice {
            Choice::Listed(lineup) => lineup.standings(),
            Choice::Decided(_, named) => named.standings(),
        }
    }

    /// The ways to a destination in the order in which one client shall try them now: through one
    /// proxy after the other, or directly where NO_PROXY says so.
    pub fn candidates(&self, destination: &HostPort) -> Candidates {
        let ways = match &self.choice {
            _ if self.route().is_direct(destination) => vec![UpstreamPath::DIRECTLY],
            Choice::Listed(lineup) => lineup.ways(self.is_onlooker),
            Choice::Decided(pac, named) => {
                return Candidates::Asked(PacQuery {
                    pac: pac.clone(),
                    named: named.clone(),
                    common: self.common.clone(),
                    destination: destination.clone(),
                    is_onlooker: self.is_onlooker,
                })
            }
        };
        Candidates::Known(Failover::new(ways))
    }
}

/// What a PAC file is to be asked for one client. Cheap to clone, and to send to another thread.
#[derive(Clone)]
pub struct PacQuery {
    pac: Arc<Pac>,
    named: Arc<Named>,
    common: Arc<Common>,
    destination: HostPort,
    is_onlooker: bool,
}

impl PacQuery {
    /// The file's name, fit to be shown.
    pub fn file(&self) -> &str {
        self.pac.name()
    }

    /// How long an answer may take: no longer than a connection, and never long.
    pub fn limit(&self, timeouts: &Timeouts) -> Duration {
        timeouts.connect.min(pac::LONGEST)
    }

    /// What the file says; blocks, until the limit at most.
    ///
    /// # Errors
    ///
    /// That it says nothing, or nothing within the limit.
    pub fn ask(&self, limit: Duration) -> Result<String, Error> {
        self.pac.ask(&self.destination, limit)
    }

    /// The ways that it says, in the order in which one client shall try them now.
    ///
    /// # Errors
    ///
    /// When it isn't an answer.
    pub fn failover(&self, said: &str) -> Result<Failover, Error> {
        let verdict = self.pac.verdict(&self.destination, said)?;
        let lineup = self.named.lineup(&self.common, self.file(), verdict);
        let ways = lineup.ways(self.is_onlooker);
        Ok(Failover::new(ways))
    }

    /// Both; blocks.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn answer(&self, limit: Duration) -> Result<Failover, Error> {
        self.failover(&self.ask(limit)?)
    }

    /// That there was no answer within the limit.
    pub fn late(&self, limit: Duration) -> Error {
        self.pac.late(&self.destination, limit)
    }
}

impl fmt::Display for ProxySelector {
    /// `through proxy.example:3128`, with every proxy and those behind it, `as corp.pac says`, or
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

    fn gateway(proxies: &[&str], via: &[&str]) -> ProxySelector {
        let specs = |urls: &[&str]| urls.iter().map(|url| url.parse().unwrap()).collect();
        ProxySelector::new(Route {
            proxies: specs(proxies),
            via: specs(via),
            ..Route::default()
        })
    }

    fn way(gateway: &ProxySelector, place: usize) -> ProxyChain {
        match &gateway.choice {
            Choice::Listed(lineup) => lineup.ways(false)[place].proxy().unwrap().clone(),
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn each_proxy_of_a_chain_is_asked_for_the_next_one() {
        let destination = "d:4".parse().unwrap();
        let gateway = gateway(&["a:1", "b:1"], &["joe:x@m:2", "socks5h://n:3"]);
        let way = way(&gateway, 1);
        assert_eq!(way.to_string(), "b:1 via m:2 via socks5h://n:3");
        let legs = (0..way.hop_count()).map(|hop| way.hop(hop, &destination));
        let legs: Vec<String> = legs
            .map(|hop| format!("{} for {}", hop.spec(), hop.target()))
            .collect();
        assert_eq!(
            legs,
            ["b:1 for m:2", "m:2 for n:3", "socks5h://n:3 for d:4"]
        );
    }

    /// The first of them that it can be asked for.
    #[test]
    fn a_proxy_of_socks_is_asked_for_an_address_when_that_is_found_here() {
        let asked = |proxy: &str, destination: &str, found: &[&str]| -> Result<String, String> {
            let hop = way(&gateway(&[proxy], &[]), 0).hop(0, &destination.parse().unwrap());
            let found: Vec<_> = found.iter().map(|text| text.parse().unwrap()).collect();
            let hop = match hop.target_to_locate() {
                Some(_) => hop.at(&found).map_err(|e| e.to_string())?,
                None => hop,
            };
            Ok(hop.asked().to_string())
        };
        let both: &[&str] = &["[::1]:22", "127.0.0.1:22"];
        for (proxy, expected) in &[
            ("p:1", "d:22"),
            ("socks5h://p", "d:22"),
            ("socks4a://p", "d:22"),
            ("socks5://p", "[::1]:22"),
            ("socks4://p", "127.0.0.1:22"),
        ] {
            assert_eq!(asked(proxy, "d:22", both), Ok(expected.to_string()));
            let literal = asked(proxy, "192.0.2.7:22", &[]);
            assert_eq!(literal, Ok("192.0.2.7:22".to_string()));
        }
        for destination in &["d:22", "[::1]:22"] {
            let why = "no IPv4 address, and socks4:// takes no other: try socks4a:// or socks5h://";
            let refused = asked("socks4://p", destination, &both[..1]).unwrap_err();
            let told = format!("cannot resolve {}: {}", destination, why);
            assert_eq!(refused, told);
        }
        // It is an IPv4 address, and was refused for want of one.
        let mapped = "[::ffff:192.0.2.7]:22";
        assert_eq!(asked("socks4://p", mapped, &[]), Ok(mapped.to_string()));
        let literal = asked("socks4a://p", "[::1]:22", &[]);
        assert_eq!(literal, Ok("[::1]:22".to_string()));
    }

    /// `-6` had found none at all for a proxy of SOCKS4.
    #[test]
    fn which_version_is_ours_is_no_matter_to_who_takes_one_alone() {
        let version = |proxy: &str| {
            let gateway = ProxySelector::new(Route {
                proxies: vec![proxy.parse().unwrap()],
                family: Family::V6,
                ..Route::default()
            });
            let hop = way(&gateway, 0).hop(0, &"d:22".parse().unwrap());
            hop.family().version
        };
        assert_eq!(version("socks4://p"), Version::Any);
        assert_eq!(version("socks5://p"), Version::V6);
    }

    /// The credentials of one are nobody else's business.
    #[test]
    fn each_proxy_of_a_chain_is_told_its_own_credentials() {
        let destination = "d:4".parse().unwrap();
        let gateway = gateway(&["joe:x@a:1"], &["ann:y@m:2", "n:3"]);
        let way = way(&gateway, 0);
        let said =
            |hop| String::from_utf8(way.hop(hop, &destination).negotiation().begin()).unwrap();
        assert!(said(0).contains("Basic am9lOng=") && said(0).starts_with("CONNECT m:2 "));
        assert!(said(1).contains("Basic YW5uOnk=") && said(1).starts_with("CONNECT n:3 "));
        assert!(!said(2).contains("Basic") && said(2).starts_with("CONNECT d:4 "));
    }
}
