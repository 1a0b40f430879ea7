//! What a tunnel leads to, and by which way: the value that the engine is handed.

use std::fmt;
use std::sync::Arc;

use super::ProxySelector;
use crate::config::{Destination, FailoverOn, Family, Header, Host, HostPort, ProxySpec, Route};

/// A destination and the gateway to it. Cheap to clone, and to send to another thread.
///
/// ```
/// use ptunnel::upstream::Tunnel;
///
/// let tunnel = Tunnel::to("example.org:22".parse()?)
///     .through("proxy.example:3128".parse()?)
///     .through("http://user:secret@standby.example".parse()?)
///     .build();
/// assert_eq!(tunnel.destination().to_string(), "example.org:22");
/// # Ok::<(), ptunnel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tunnel {
    shared: Arc<(Destination, ProxySelector)>,
    is_of_guest: bool,
    exclude_local: bool,
}

impl Tunnel {
    /// Begins to describe a tunnel; without a proxy it connects directly.
    pub fn to(destination: Destination) -> Builder {
        Builder {
            destination,
            route: Route::default(),
        }
    }

    /// A tunnel through a gateway that others use too: what one learns of a dead proxy, all
    /// know.
    pub fn new(destination: impl Into<Destination>, gateway: &ProxySelector) -> Tunnel {
        Tunnel {
            shared: Arc::new((destination.into(), gateway.clone())),
            is_of_guest: false,
            exclude_local: false,
        }
    }

    /// The same, to a destination that a client named, and not the configuration.
    pub fn of_guest(destination: HostPort, gateway: &ProxySelector) -> Tunnel {
        Tunnel {
            is_of_guest: true,
            ..Tunnel::new(destination, gateway)
        }
    }

    /// The same, where this machine itself and its link are no destination to be reached directly.
    pub fn elsewhere(self) -> Tunnel {
        Tunnel {
            exclude_local: true,
            ..self
        }
    }

    /// Which addresses of the destination are tried, where it is reached directly.
    pub fn family(&self) -> Family {
        let family = self.selector().route().family;
        if self.exclude_local {
            family.elsewhere()
        } else {
            family
        }
    }

    /// Whether a client named the destination: its look-up may hang, and shall not keep those of
    /// the configuration waiting.
    pub fn is_of_guest(&self) -> bool {
        self.is_of_guest
    }

    /// Where it leads.
    pub fn destination(&self) -> &Destination {
        &self.shared.0
    }

    /// By which way.
    pub fn selector(&self) -> &ProxySelector {
        &self.shared.1
    }

    /// Whether one of its ways begins with a name.
    pub(crate) fn looks_names_up(&self) -> bool {
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
    /// Whether both lead to the same by the same way, whatever was learnt of its proxies.
    fn eq(&self, other: &Tunnel) -> bool {
        let kind = |tunnel: &Tunnel| (tunnel.is_of_guest, tunnel.exclude_local);
        let (route, others) = (self.selector().route(), other.selector().route());
        self.destination() == other.destination()
            && kind(self) == kind(other)
            && route.is_same_to(&self.destination().address, others)
    }
}

impl fmt::Display for Tunnel {
    /// `example.org:22 through proxy.example:3128`, with every proxy and those behind it, or
    /// `example.org:22 directly`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (destination, gateway) = (self.destination(), self.selector());
        if gateway.route().is_direct(&destination.address) {
            write!(f, "{} directly", destination)
        } else {
            write!(f, "{} {}", destination, gateway)
        }
    }
}

/// A [`Tunnel`] in the making.
#[derive(Clone, Debug)]
pub struct Builder {
    destination: Destination,
    route: Route,
}

impl Builder {
    /// Adds a proxy; they are asked in the order in which they were added.
    pub fn through(mut self, proxy: ProxySpec) -> Builder {
        self.route.proxies.push(proxy);
        self
    }

    /// Adds a proxy behind those, reached through whichever of them is used, and then through the
    /// one that was added here before it.
    pub fn via(mut self, proxy: ProxySpec) -> Builder {
        self.route.via.push(proxy);
        self
    }

    /// Adds a field to the CONNECT request.
    pub fn header(mut self, header: Header) -> Builder {
        self.route.headers.push(header);
        self
    }

    /// Which addresses of the proxies are tried; both families if not said.
    pub fn family(mut self, family: Family) -> Builder {
        self.route.family = family;
        self
    }

    /// Connects directly when no proxy can be reached (never when one refused).
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

    /// The tunnel, with a gateway of its own.
    pub fn build(mut self) -> Tunnel {
        // With nothing in front of it, what was to be behind is in front.
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
    fn it_shows_every_proxy_that_may_have_a_part_in_it() {
        assert_eq!(shown(&[], &[]), "d:4 directly");
        assert_eq!(shown(&["a:1"], &["m:2"]), "d:4 through a:1 via m:2");
        let both = shown(&["joe:x@a:1", "b:1"], &["ann:y@m:2", "socks5h://n"]);
        assert_eq!(
            both,
            "d:4 through a:1, b:1, each via m:2 via socks5h://n:1080"
        );
    }

    /// It would have gone directly, past all of them.
    #[test]
    fn a_chain_without_a_beginning_begins_with_its_first_proxy() {
        assert_eq!(shown(&[], &["m:2", "n:3"]), "d:4 through m:2 via n:3");
    }
}
