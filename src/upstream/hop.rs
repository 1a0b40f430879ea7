//! A part of the way: a proxy, and what it is asked for.

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

/// One proxy, and where it shall connect us to.
#[derive(Clone, Debug)]
pub struct Hop {
    candidate: ProxyChain,
    /// How many proxies are before this one.
    hop: usize,
    target: HostPort,
    /// Of the target, where the proxy isn't to be told its name.
    address: Option<HostPort>,
    /// Whether the proxy has said anything; where SOCKS is spoken.
    has_spoken: Option<Arc<AtomicBool>>,
}

impl Hop {
    pub(super) fn new(candidate: ProxyChain, hop: usize, target: HostPort) -> Hop {
        let is_http = candidate.proxy(hop).protocol == Protocol::Http;
        Hop {
            candidate,
            hop,
            target,
            address: None,
            has_spoken: if is_http { None } else { Some(Arc::default()) },
        }
    }

    /// What is to be said of the proxy while it doesn't reply.
    pub fn silence(&self) -> SilentProxy {
        SilentProxy::of(self, self.has_spoken.clone())
    }

    /// The proxy.
    pub fn spec(&self) -> &ProxySpec {
        self.candidate.proxy(self.hop)
    }

    /// The proxies that it is reached through.
    pub(crate) fn before(&self) -> impl Iterator<Item = &ProxySpec> {
        (0..self.hop).map(move |hop| self.candidate.proxy(hop))
    }

    /// How errors call the proxy.
    pub fn peer(&self) -> Peer {
        match self.hop {
            0 => self.candidate.peer(),
            _ => Peer::Via(self.spec().address.clone()),
        }
    }

    /// Whether there are others: of one proxy it goes without saying which it is.
    pub fn is_of_chain(&self) -> bool {
        self.candidate.hop_count() > 1
    }

    /// Where the proxy shall connect us to.
    pub fn target(&self) -> &HostPort {
        &self.target
    }

    /// How errors call the target.
    pub fn target_peer(&self) -> Peer {
        if self.hop + 1 < self.candidate.hop_count() {
            Peer::Via(self.target.clone())
        } else {
            Peer::Destination(self.target.clone())
        }
    }

    /// Which addresses of the target are tried, where we look it up. Where the proxy takes those of
    /// one version alone, [`at`](Hop::at) chooses them: ours is that of the way to the proxy.
    pub fn family(&self) -> Family {
        let family = self.candidate.family();
        if self.takes_ipv4_alone() {
            let version = Version::Any;
            return Family { version, ..family };
        }
        family
    }

    /// The target, when its addresses are to be found here; [`at`](Hop::at) says which they are.
    pub fn target_to_locate(&self) -> Option<&HostPort> {
        let is_located_here = match &self.target.host {
            Host::Name(_) => self.spec().protocol.resolves_here(),
            Host::Ip(ip) => unmap_ipv4(*ip).is_ipv6() && self.takes_ipv4_alone(),
        };
        Some(&self.target).filter(|_| is_located_here)
    }

    /// Has the proxy asked for one of these addresses of the target: the first that it can be asked
    /// for.
    ///
    /// # Errors
    ///
    /// When there is none.
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

    /// What the proxy is asked for: the target, or an address of it.
    pub fn asked(&self) -> &HostPort {
        self.address.as_ref().unwrap_or(&self.target)
    }

    fn takes_ipv4_alone(&self) -> bool {
        self.spec().protocol == Protocol::Socks4(DnsMode::Local)
    }

    /// How long a tunnel waits until it [is clear](Hop::is_clear), if that is worth asking. A proxy
    /// refuses a wrong password at once; one that takes longer is connecting to the destination.
    pub fn auth_wait(&self) -> Option<Duration> {
        let identity = self.candidate.identity(self.hop);
        identity.map(|_| Duration::from_secs(1))
    }

    /// Whether the proxy may be asked now. While the first tunnel that sends a password has yet to
    /// learn what the proxy makes of it, others wait: a wrong one would be sent for each of them.
    /// What `tell` makes is called when it is time to ask again.
    pub fn is_clear(&self, tell: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        let identity = self.candidate.identity(self.hop);
        identity.map_or(true, |identity| identity.is_clear(tell))
    }

    /// What is said to the proxy: for HTTP with our headers, in the way that it took last.
    pub fn negotiation(&self) -> Negotiation {
        let asked = self.asked();
        let identity = self.candidate.identity(self.hop).cloned();
        let exchange: Negotiation = match self.spec().protocol {
            Protocol::Http => self.request(asked, identity),
            Protocol::Socks5(_) => Socks5::connect(asked, identity).into(),
            Protocol::Socks4(_) => {
                let credentials = self.spec().credentials.clone();
                Socks4::connect(asked, credentials).into()
            }
        };
        match &self.has_spoken {
            Some(has_spoken) => exchange.noting(has_spoken.clone()),
            None => exchange,
        }
    }

    fn request(&self, asked: &HostPort, identity: Option<AuthCache>) -> Negotiation {
        let mut request = Request::connect(asked);
        for header in &self.candidate.route().headers {
            request = request.header(header.clone());
        }
        match identity {
            Some(identity) => Negotiation::new(request, identity),
            None => request.into(),
        }
    }
}
