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
    target: HostPort,
    /// Of the target, where the proxy isn't to be told its name.
    address: Option<SocketAddr>,
}

impl Leg {
    pub(super) fn new(candidate: Candidate, target: HostPort) -> Leg {
        Leg {
            candidate,
            target,
            address: None,
        }
    }

    /// The proxy.
    pub fn spec(&self) -> &ProxySpec {
        self.candidate.spec()
    }

    /// How errors call the proxy.
    pub fn peer(&self) -> Peer {
        Peer::Proxy(self.spec().address.clone())
    }

    /// Where the proxy shall connect us to.
    pub fn target(&self) -> &HostPort {
        &self.target
    }

    /// Which addresses are tried, of the proxy and of a target that is looked up here.
    pub fn family(&self) -> Family {
        self.candidate.route().family
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
        match self.candidate.identity() {
            Some(identity) => Exchange::new(request, identity.clone()),
            None => request.into(),
        }
    }
}
