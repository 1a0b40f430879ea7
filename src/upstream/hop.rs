//! A hop of a chain: a proxy, and the target that ptunnel requests from it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

use super::{ProxyChain, SilentProxy};
use crate::config::{unmap_ipv4, DnsMode, Family, Host, HostPort, Protocol, ProxySpec, Version};
use crate::error::{Advised, Error, Peer};
use crate::proto::auth::AuthCache;
use crate::proto::{Negotiation, Request, Socks4, Socks5};

/// One proxy of a chain, and the target that ptunnel requests from it.
#[derive(Clone, Debug)]
pub struct Hop {
    chain: ProxyChain,
    /// The number of proxies before this one.
    index: usize,
    target: HostPort,
    /// The target's address, if ptunnel looks the name up.
    address: Option<HostPort>,
    /// Whether a SOCKS proxy has sent anything.
    has_spoken: Option<Arc<AtomicBool>>,
}

impl Hop {
    pub(super) fn new(chain: ProxyChain, index: usize, target: HostPort) -> Hop {
        let is_http = chain.proxy(index).protocol == Protocol::Http;
        Hop {
            chain,
            index,
            target,
            address: None,
            has_spoken: if is_http { None } else { Some(Arc::default()) },
        }
    }

    /// Returns the report of a proxy that doesn't reply.
    pub fn silence(&self) -> SilentProxy {
        SilentProxy::of(self, self.has_spoken.clone())
    }

    /// Returns the proxy.
    pub fn spec(&self) -> &ProxySpec {
        self.chain.proxy(self.index)
    }

    /// Returns the proxies that this one is reached through.
    pub(crate) fn before(&self) -> impl Iterator<Item = &ProxySpec> {
        (0..self.index).map(move |index| self.chain.proxy(index))
    }

    /// Returns the proxy as errors name it.
    pub fn peer(&self) -> Peer {
        match self.index {
            0 => self.chain.peer(),
            _ => Peer::Via(self.spec().address.clone()),
        }
    }

    /// Returns whether the chain has other proxies.
    pub fn is_of_chain(&self) -> bool {
        self.chain.hop_count() > 1
    }

    /// Returns the next proxy or the destination, by name.
    pub fn target(&self) -> &HostPort {
        &self.target
    }

    /// Returns the target as errors name it.
    pub fn target_peer(&self) -> Peer {
        if self.index + 1 < self.chain.hop_count() {
            Peer::Via(self.target.clone())
        } else {
            Peer::Destination(self.target.clone())
        }
    }

    /// Returns which addresses of the target to look up. The configured version is for connections
    /// to the proxy: for a proxy that takes IPv4 alone, [`at`](Hop::at) chooses among all.
    pub fn family(&self) -> Family {
        let family = self.chain.family();
        if self.takes_ipv4_alone() {
            let version = Version::Any;
            return Family { version, ..family };
        }
        family
    }

    /// Returns the target if ptunnel must look it up; [`at`](Hop::at) takes the result.
    pub fn target_to_locate(&self) -> Option<&HostPort> {
        let is_located_here = match &self.target.host {
            Host::Name(_) => self.spec().protocol.resolves_here(),
            Host::Ip(ip) => unmap_ipv4(*ip).is_ipv6() && self.takes_ipv4_alone(),
        };
        Some(&self.target).filter(|_| is_located_here)
    }

    /// Chooses the first address of the target that the proxy's protocol can carry.
    ///
    /// # Errors
    ///
    /// A lookup error (`NotFound`) if there is none.
    pub fn at(mut self, addresses: &[SocketAddr]) -> Result<Hop, Error> {
        let is_taken = |address: &&SocketAddr| address.is_ipv4() || !self.takes_ipv4_alone();
        match addresses.iter().find(is_taken) {
            Some(address) => {
                self.address = Some(HostPort::from(*address));
                Ok(self)
            }
            None => {
                let why = "no IPv4 address, and socks4:// takes no other: try socks4a:// or \
                           socks5h://";
                let why = io::Error::new(io::ErrorKind::NotFound, Advised(why.into()));
                Err(Error::locate(self.target_peer(), why))
            }
        }
    }

    /// Returns what the CONNECT or SOCKS request names: the target, or its address.
    pub fn requested(&self) -> &HostPort {
        self.address.as_ref().unwrap_or(&self.target)
    }

    fn auth(&self) -> Option<&AuthCache> {
        self.chain.pooled(self.index).auth.as_ref()
    }

    fn takes_ipv4_alone(&self) -> bool {
        self.spec().protocol == Protocol::Socks4(DnsMode::Local)
    }

    /// Returns how long a tunnel waits until it [is clear](Hop::is_clear); `None` without a password.
    /// A proxy refuses a wrong password at once; one that takes longer is connecting to the
    /// destination.
    pub fn auth_wait(&self) -> Option<Duration> {
        let auth = self.auth();
        auth.map(|_| Duration::from_secs(1))
    }

    /// Returns whether the negotiation can begin now. While the first tunnel that sends a password
    /// waits for the proxy's verdict, other tunnels wait too: each of them would send a wrong one
    /// again. The callback that `callback` makes is called when it is time to call this again.
    pub fn is_clear(&self, callback: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        let auth = self.auth();
        auth.map_or(true, |auth| auth.is_clear(callback))
    }

    /// Begins the negotiation with the proxy: for HTTP with the configured headers, and with the
    /// authentication scheme that the proxy accepted last.
    pub fn negotiation(&self) -> Negotiation {
        let target = self.requested();
        let auth = self.auth().cloned();
        let negotiation: Negotiation = match self.spec().protocol {
            Protocol::Http => Negotiation::new(self.request(target), auth),
            Protocol::Socks5(_) => Socks5::connect(target, auth).into(),
            Protocol::Socks4(_) => {
                let credentials = self.spec().credentials.clone();
                Socks4::connect(target, credentials).into()
            }
        };
        match &self.has_spoken {
            Some(has_spoken) => negotiation.with_has_spoken(has_spoken.clone()),
            None => negotiation,
        }
    }

    fn request(&self, target: &HostPort) -> Request {
        let mut request = Request::connect(target);
        for header in &self.chain.route().headers {
            request = request.header(header.clone());
        }
        request
    }
}
