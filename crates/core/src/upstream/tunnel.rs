//! A destination with its proxies.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{ChosenBy, Failover, Lookup, ProxySelector};
use crate::config::{Destination, Family, ProxySpec, Route};
use crate::error::Error;
use ptunnel_proto::proxy_protocol::{encode, ClientAddresses};
use ptunnel_proto::values::{FailoverOn, Header, Host, HostPort, ProxyProtocol};

/// A destination and its proxy selector. Cheap to clone, and to send to another thread.
///
/// ```
/// use ptunnel_core::upstream::Tunnel;
///
/// let tunnel = Tunnel::to("example.org:22".parse()?)
///     .through("proxy.example:3128".parse()?)
///     .through("http://user:secret@standby.example".parse()?)
///     .build();
/// assert_eq!(tunnel.destination().to_string(), "example.org:22");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tunnel {
    shared: Arc<(Destination, Arc<ProxySelector>)>,
    chosen_by: ChosenBy,
    exclude_local: bool,
    is_for_observer: bool,
    may_reach_tunnels: bool,
    /// The client that PROXY headers name, if any.
    client: Option<Arc<ClientAddresses>>,
}

impl Tunnel {
    /// Begins to describe a tunnel; without a proxy it connects directly.
    pub fn to(destination: Destination) -> Builder {
        Builder {
            destination,
            route: Route::default(),
        }
    }

    /// Makes a tunnel that shares the selector, and so the health of its proxies, with others.
    pub fn new(destination: impl Into<Destination>, selector: &Arc<ProxySelector>) -> Tunnel {
        Tunnel {
            shared: Arc::new((destination.into(), selector.clone())),
            chosen_by: ChosenBy::CONFIGURATION,
            exclude_local: false,
            is_for_observer: false,
            may_reach_tunnels: false,
            client: None,
        }
    }

    /// Makes a tunnel to a destination that a client chose, not the configuration. With
    /// `exclude_local`, no direct connection reaches this machine or its links.
    pub fn chosen_by_client(
        destination: HostPort,
        selector: &Arc<ProxySelector>,
        exclude_local: bool,
    ) -> Tunnel {
        Tunnel {
            chosen_by: ChosenBy::CLIENT,
            exclude_local,
            ..Tunnel::new(destination, selector)
        }
    }

    /// Returns the tunnel for a caller that must not change the health of the proxies or log
    /// failures with its attempts.
    pub(crate) fn for_observer(self) -> Tunnel {
        Tunnel {
            is_for_observer: true,
            ..self
        }
    }

    /// Returns the tunnel for a client that can ask for the listener of another tunnel of this process.
    pub(crate) fn reaching_tunnels(self) -> Tunnel {
        Tunnel {
            may_reach_tunnels: true,
            ..self
        }
    }

    /// Returns the tunnel for a client whose address the PROXY headers have; otherwise they say that
    /// ptunnel itself connects.
    pub(crate) fn for_client(self, client: Option<Arc<ClientAddresses>>) -> Tunnel {
        Tunnel { client, ..self }
    }

    /// Returns the PROXY header that the destination reads first; empty if it gets none.
    pub fn proxy_header(&self) -> Vec<u8> {
        let send = &self.selector().route().send_proxy_protocol;
        self.encode_header(send.for_destination(&self.destination().address))
    }

    /// Returns the PROXY header of this version; empty without one.
    pub(super) fn encode_header(&self, version: Option<ProxyProtocol>) -> Vec<u8> {
        version.map_or(Vec::new(), |version| {
            encode(version, self.client.as_deref())
        })
    }

    pub(super) fn is_for_observer(&self) -> bool {
        self.is_for_observer
    }

    /// Returns the paths to the destination, in the order in which one client tries them now: through
    /// one proxy after the other, or directly if NO_PROXY matches. `None` if a PAC file names the
    /// proxies: see [`evaluate_pac`](Tunnel::evaluate_pac).
    pub fn failover(&self) -> Option<Failover> {
        let pool = self.selector().pool(&self.destination().address)?;
        Some(Failover::new(self.clone(), pool.clone()))
    }

    /// Evaluates the PAC file for one client; returns its answer as text, and the paths for this
    /// answer. Blocks for at most `limit`.
    ///
    /// # Errors
    ///
    /// The script threw, the limit is over, or the answer is too long or names only proxies that
    /// ptunnel can't use.
    ///
    /// # Panics
    ///
    /// The selector has no PAC file.
    pub fn evaluate_pac(&self, limit: Duration) -> Result<(String, Failover), Error> {
        let (answer, pool) = self.selector().evaluate_pac(&self.lookup(), limit)?;
        Ok((answer, Failover::new(self.clone(), pool)))
    }

    /// Makes the error of a PAC file that didn't answer within `limit`.
    ///
    /// # Panics
    ///
    /// The selector has no PAC file.
    pub fn pac_late(&self, limit: Duration) -> Error {
        self.selector().pac_late(&self.destination().address, limit)
    }

    /// Returns the error for a PAC file that no thread can evaluate.
    pub fn pac_unstarted(&self, error: io::Error) -> Error {
        Error::other("cannot start a thread to evaluate the PAC file", error)
            .to(&self.destination().address)
    }

    /// Returns the lookup of the destination for a direct connection.
    pub fn lookup(&self) -> Lookup<'_> {
        let mut family = self.selector().route().family.clone();
        if self.may_reach_tunnels {
            family.own = family.own.allowing_tunnels();
        }
        Lookup {
            address: &self.destination().address,
            family: if self.exclude_local {
                family.elsewhere()
            } else {
                family
            },
            chosen_by: self.chosen_by,
        }
    }

    /// Returns the destination.
    pub fn destination(&self) -> &Destination {
        &self.shared.0
    }

    /// Returns the proxy selector.
    pub fn selector(&self) -> &Arc<ProxySelector> {
        &self.shared.1
    }

    /// Returns whether one of its paths needs a name lookup.
    pub(crate) fn resolves_names(&self) -> bool {
        let (destination, route) = (&self.destination().address, self.selector().route());
        let is_name = |address: &HostPort| matches!(address.host, Host::Name(_));
        let looks_up = |proxy: &ProxySpec| proxy.protocol.resolves_here();
        let looks_targets_up = route.all_proxies().any(looks_up);
        let is_asked = route.pac.is_some() && !route.is_direct(destination);
        let may_be_direct = route.direct_fallback || route.is_direct(destination);
        let is_named = |proxy: &ProxySpec| is_name(&proxy.address);
        is_asked
            || (may_be_direct || looks_targets_up) && is_name(destination)
            || looks_targets_up && route.via.iter().any(is_named)
            || route.proxies.iter().any(is_named)
    }
}

impl PartialEq for Tunnel {
    /// Compares destination and route, not the health of the proxies.
    fn eq(&self, other: &Tunnel) -> bool {
        let kind = |tunnel: &Tunnel| (tunnel.chosen_by, tunnel.exclude_local);
        let (route, others) = (self.selector().route(), other.selector().route());
        self.destination() == other.destination()
            && kind(self) == kind(other)
            && route.is_same_to(&self.destination().address, others)
    }
}

impl fmt::Display for Tunnel {
    /// `example.org:22 through proxy.example:3128`, with every proxy and every `via`, or
    /// `example.org:22 directly`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (destination, selector) = (self.destination(), self.selector());
        if selector.route().is_direct(&destination.address) {
            write!(f, "{} directly", destination)
        } else {
            write!(f, "{} {}", destination, selector)
        }
    }
}

/// Builds a [`Tunnel`].
#[derive(Clone, Debug)]
pub struct Builder {
    destination: Destination,
    route: Route,
}

impl Builder {
    /// Adds an alternative proxy; they are tried in the order of the calls.
    pub fn through(mut self, proxy: ProxySpec) -> Builder {
        self.route.proxies.push(proxy);
        self
    }

    /// Appends a proxy to the chain after the alternatives.
    pub fn via(mut self, proxy: ProxySpec) -> Builder {
        self.route.via.push(proxy);
        self
    }

    /// Adds a field to the CONNECT request.
    pub fn header(mut self, header: Header) -> Builder {
        self.route.headers.push(header);
        self
    }

    /// Sets which addresses of the proxies are tried; both families by default.
    pub fn family(mut self, family: Family) -> Builder {
        self.route.family = family;
        self
    }

    /// Sets whether to connect directly when no proxy can be reached (never when one refused).
    pub fn direct_fallback(mut self, allowed: bool) -> Builder {
        self.route.direct_fallback = allowed;
        self
    }

    /// Tries the next proxy after a refusal with one of these statuses; with none of them, every
    /// refusal is final.
    pub fn failover_on(mut self, statuses: FailoverOn) -> Builder {
        self.route.failover_on = statuses;
        self
    }

    /// Returns the tunnel, with its own selector.
    pub fn build(mut self) -> Tunnel {
        // Without alternatives the chain begins with its first `via`.
        if self.route.proxies.is_empty() && !self.route.via.is_empty() {
            self.route.proxies.push(self.route.via.remove(0));
        }
        Tunnel::new(self.destination, &ProxySelector::new(self.route))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(proxies: &[&str], via: &[&str]) -> String {
        let begun = Tunnel::to("d:4".parse().unwrap());
        let begun = proxies
            .iter()
            .fold(begun, |all, url| all.through(url.parse().unwrap()));
        let tunnel = via
            .iter()
            .fold(begun, |all, url| all.via(url.parse().unwrap()));
        tunnel.build().to_string()
    }

    #[test]
    fn it_displays_every_possible_proxy() {
        assert_eq!(shown(&[], &[]), "d:4 directly");
        assert_eq!(shown(&["a:1"], &["m:2"]), "d:4 through a:1 via m:2");
        let both = shown(&["joe:x@a:1", "b:1"], &["ann:y@m:2", "socks5h://n"]);
        assert_eq!(
            both,
            "d:4 through a:1, b:1, each via m:2 via socks5h://n:1080"
        );
    }

    /// Otherwise the tunnel would connect directly.
    #[test]
    fn a_chain_without_alternatives_begins_with_its_first_via() {
        assert_eq!(shown(&[], &["m:2", "n:3"]), "d:4 through m:2 via n:3");
    }
}
