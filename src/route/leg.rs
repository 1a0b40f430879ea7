//! A part of the way: a proxy, and what it is asked for.

use std::net::SocketAddr;

use super::Candidate;
use crate::config::{Family, Host, HostPort, Names, Protocol, ProxySpec};
use crate::error::Peer;
use crate::wire::{Exchange, Request, Socks5};

/// One proxy, and where it shall connect us to.
#[derive(Clone, Debug)]
pub struct Leg {
    candidate: Candidate,
    /// How many proxies are before this one.
    hop: usize,
    target: HostPort,
    /// Of the target, where the proxy isn't to be told its name.
    address: Option<SocketAddr>,
}

impl Leg {
    pub(super) fn new(candidate: Candidate, hop: usize, target: HostPort) -> Leg {
        Leg {
            candidate,
            hop,
            target,
            address: None,
        }
    }

    /// The proxy.
    pub fn spec(&self) -> &ProxySpec {
        self.candidate.proxy(self.hop)
    }

    /// How errors call the proxy.
    pub fn peer(&self) -> Peer {
        Peer::Proxy(self.spec().address.clone())
    }

    /// Whether there are others: of one proxy it goes without saying which it is.
    pub fn is_of_chain(&self) -> bool {
        self.candidate.hops() > 1
    }

    /// Where the proxy shall connect us to.
    pub fn target(&self) -> &HostPort {
        &self.target
    }

    /// How errors call the target.
    pub fn target_peer(&self) -> Peer {
        if self.hop + 1 < self.candidate.hops() {
            Peer::Proxy(self.target.clone())
        } else {
            Peer::Destination(self.target.clone())
        }
    }

    /// Which addresses of the target are tried, where we look it up.
    pub fn family(&self) -> Family {
        self.candidate.family()
    }

    /// The target, when it is a name that we resolve; [`at`](Leg::at) says to what.
    pub fn name_to_look_up(&self) -> Option<&HostPort> {
        match (self.spec().protocol, &self.target.host) {
            (Protocol::Socks5(Names::Here), Host::Name(_)) => Some(&self.target),
            _ => None,
        }
    }

    /// Has the proxy asked for this address of the target.
    pub fn at(mut self, address: SocketAddr) -> Leg {
        self.address = Some(address);
        self
    }

    /// What is said to the proxy: for HTTP with our headers, in the way that it took last.
    pub fn exchange(&self) -> Exchange {
        let address = self.address.map(HostPort::from);
        let asked = address.as_ref().unwrap_or(&self.target);
        match self.spec().protocol {
            Protocol::Http => self.request(asked),
            Protocol::Socks5(_) => Socks5::connect(asked, self.spec().credentials.clone()).into(),
        }
    }

    fn request(&self, asked: &HostPort) -> Exchange {
        let mut request = Request::connect(asked);
        for header in &self.candidate.route().headers {
            request = request.header(header.clone());
        }
        match self.candidate.identity(self.hop) {
            Some(identity) => Exchange::new(request, identity.clone()),
            None => request.into(),
        }
    }
}
