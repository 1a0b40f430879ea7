//! A hop of a chain: a proxy, and the target that ptunnel requests from it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::Level::Warn;

use super::health::Watch;
use super::pooled_proxy::PooledProxy;
use super::{Lookup, ProxyChain, Tunnel};
use crate::config::{Family, ProxySpec};
use crate::error::{Advised, Error, Peer, Phase, TunnelPath};
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};
use crate::os::own_sockets::OwnSockets;
use ptunnel_proto::auth::AuthCache;
use ptunnel_proto::values::{unmap_ipv4, DnsMode, Host, HostPort, Protocol};
use ptunnel_proto::{Negotiation, Refusal, Request, Socks4, Socks5, StandingRefusal};

/// Time after which a SOCKS proxy that has sent nothing is suspicious: it needs no lookup and no
/// connection to answer the first message.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// Time before a request in which another tunnel shows that the proxy works.
const LATELY: Duration = Duration::from_secs(30);

const SUSPICION: &str = "HTTP proxies don't reply to SOCKS; if it is an HTTP proxy, use http://";

/// One proxy of a chain, and the target that ptunnel requests from it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Hop {
    tunnel: Tunnel,
    chain: ProxyChain,
    /// The number of proxies before this one.
    index: usize,
    proxy: Arc<PooledProxy>,
    /// The target's address, if ptunnel looks the name up.
    address: Option<HostPort>,
    /// Whether a SOCKS proxy has sent anything; `None` for another proxy, for one that has answered
    /// before, and for an observer, which has its own advice.
    has_spoken: Option<Arc<AtomicBool>>,
    /// What a negotiation with an HTTP proxy leaves.
    standing: Option<StandingRefusal>,
}

impl Hop {
    /// Returns the hop at `index`, if the chain has so many.
    pub(super) fn new(chain: &ProxyChain, index: usize, tunnel: &Tunnel) -> Option<Hop> {
        let proxy = chain.pooled().nth(index)?.clone();
        let is_http = proxy.spec.protocol == Protocol::Http;
        let is_known = is_http || proxy.health.has_answered();
        Some(Hop {
            tunnel: tunnel.clone(),
            chain: chain.clone(),
            index,
            proxy,
            address: None,
            has_spoken: if is_known || tunnel.is_for_observer() {
                None
            } else {
                Some(Arc::default())
            },
            standing: Some(StandingRefusal::default()).filter(|_| is_http),
        })
    }

    /// Returns the hop before this one, which has this one's proxy as its target; `None` for the
    /// first, which ptunnel dials.
    pub fn previous(&self) -> Option<Hop> {
        Hop::new(&self.chain, self.index.checked_sub(1)?, &self.tunnel)
    }

    /// Returns the proxy.
    pub fn spec(&self) -> &ProxySpec {
        &self.proxy.spec
    }

    /// Returns the proxies that this one is reached through.
    pub(crate) fn before(&self) -> impl Iterator<Item = &ProxySpec> {
        self.chain.proxies().take(self.index)
    }

    /// Returns the proxy as errors name it.
    pub fn peer(&self) -> Peer {
        match self.index {
            0 => self.tunnel.selector().peer(self.spec()),
            _ => Peer::Via(self.spec().address.clone()),
        }
    }

    /// Returns whether the chain has other proxies.
    pub fn is_of_chain(&self) -> bool {
        self.chain.proxies().count() > 1
    }

    fn next(&self) -> Option<&ProxySpec> {
        self.chain.proxies().nth(self.index + 1)
    }

    /// Returns the next proxy or the destination, by name.
    pub fn target(&self) -> &HostPort {
        match self.next() {
            Some(next) => &next.address,
            None => &self.tunnel.destination().address,
        }
    }

    /// Returns the target as errors name it.
    pub fn target_peer(&self) -> Peer {
        match self.next() {
            Some(next) => Peer::Via(next.address.clone()),
            None => Peer::Destination(self.tunnel.destination().address.clone()),
        }
    }

    /// Returns the PROXY header that the proxy reads first, before TLS; empty if it gets none. Only
    /// the proxy that ptunnel dials can get one.
    pub fn proxy_header(&self) -> Vec<u8> {
        let send = &self.tunnel.selector().route().send_proxy_protocol;
        self.tunnel
            .encode_header(send.to_proxy.filter(|_| self.index == 0))
    }

    /// Returns whether a client that can't reach the proxy has another path, so that it should
    /// [`watch`](Hop::watch) while it connects.
    pub fn has_alternative(&self) -> bool {
        self.chain.has_alternative()
    }

    /// Calls `callback` when another client finds the proxy unreachable, until the result is dropped.
    /// Then the client need not wait any longer: it fails with [`unreachable`](Hop::unreachable).
    pub fn watch(&self, callback: impl FnOnce() + Send + 'static) -> Watch {
        self.proxy.health.watch(Box::new(callback))
    }

    /// Makes the error of a client that doesn't connect to the proxy because another one couldn't.
    pub fn unreachable(&self) -> Error {
        let why = "it was unreachable for another client";
        let why = io::Error::new(io::ErrorKind::NotConnected, why);
        Error::connect(self.peer(), why)
    }

    fn family(&self) -> Family {
        self.tunnel.selector().route().family.clone()
    }

    /// Returns the lookup of the proxy.
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup::configured(&self.spec().address, self.family())
    }

    /// Returns the lookup of the target if ptunnel must look it up; [`at`](Hop::at) takes the result.
    pub fn target_lookup(&self) -> Option<Lookup<'_>> {
        let family = self.target_family();
        let is_located_here = match &self.target().host {
            Host::Name(_) => self.spec().protocol.resolves_here(),
            Host::Ip(ip) => unmap_ipv4(*ip).is_ipv6() && self.takes_ipv4_alone(),
        };
        let lookup = match self.next() {
            Some(next) => Lookup::configured(&next.address, family),
            None => Lookup {
                family,
                ..self.tunnel.lookup()
            },
        };
        Some(lookup).filter(|_| is_located_here)
    }

    /// Returns which addresses of the target to look up, to which the proxy connects. The configured
    /// version applies to connections to the proxy: for a proxy that takes IPv4 alone, [`at`](Hop::at)
    /// chooses among all.
    fn target_family(&self) -> Family {
        if self.takes_ipv4_alone() {
            return Family::ANY;
        }
        Family {
            own: OwnSockets::NONE,
            ..self.family()
        }
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
                let why = "no IPv4 address, which socks4:// requires; use socks4a:// or \
                           socks5h://";
                let why = io::Error::new(io::ErrorKind::NotFound, Advised(why.into()));
                Err(Error::locate(self.target_peer(), why))
            }
        }
    }

    /// Returns the host in the CONNECT or SOCKS request: the target, or its address.
    pub fn requested(&self) -> &HostPort {
        self.address.as_ref().unwrap_or_else(|| self.target())
    }

    fn takes_ipv4_alone(&self) -> bool {
        self.spec().protocol == Protocol::Socks4(DnsMode::Local)
    }

    /// Returns how long a tunnel waits until it [is clear](Hop::is_clear); `None` without a
    /// password. A KDC may take long to issue a ticket, and a command to print a password.
    pub fn auth_wait(&self) -> Option<Duration> {
        self.proxy.auth.as_ref().map(AuthCache::patience)
    }

    /// Returns whether the negotiation can begin now. While the first tunnel that sends a password
    /// waits for the proxy's reply, other tunnels wait too: each of them would send a wrong
    /// password again. With Kerberos, a tunnel waits for its token, and with a command for the
    /// password. The callback that `callback` makes is called when it is time to call this
    /// again.
    pub fn is_clear(&self, callback: impl FnMut() -> Box<dyn FnOnce() + Send>) -> bool {
        let auth = self.proxy.auth.as_ref();
        auth.map_or(true, |auth| auth.is_clear(callback))
    }

    /// Begins the negotiation with the proxy: for HTTP with the configured headers, and with the
    /// authentication scheme that the proxy accepted last.
    pub fn negotiation(&self) -> Negotiation {
        let target = self.requested();
        let auth = self.proxy.auth.clone();
        let negotiation: Negotiation = match self.spec().protocol {
            Protocol::Http => Negotiation::new(self.request(target), auth),
            Protocol::Socks5(_) => Socks5::connect(target, auth).into(),
            Protocol::Socks4(_) => {
                let credentials = self.spec().credentials.clone();
                Socks4::connect(target, credentials).into()
            }
        };
        let negotiation = match &self.has_spoken {
            Some(has_spoken) => negotiation.with_has_spoken(has_spoken.clone()),
            None => negotiation,
        };
        match &self.standing {
            Some(standing) => negotiation.with_standing(standing.clone()),
            None => negotiation,
        }
    }

    /// Takes the error of a negotiation that failed, and returns it, or the proxy's refusal if only its
    /// check or what follows its status failed. The proxies before this one have opened tunnels.
    pub fn settled(&self, error: Error) -> Error {
        let error = self.or_standing(error);
        let count = self.index + usize::from(error.is_refusal());
        self.chain.heard(count);
        error
    }

    fn or_standing(&self, error: Error) -> Error {
        let standing = self.standing.as_ref().filter(|_| !error.is_refusal());
        match standing.and_then(StandingRefusal::take) {
            Some(refusal) => {
                let refusal = Refusal::Http(refusal);
                Error::refused(self.peer(), self.target().clone(), refusal)
            }
            None => error,
        }
    }

    fn request(&self, target: &HostPort) -> Request {
        let mut request = Request::connect(target);
        for header in &self.tunnel.selector().route().headers {
            request = request.header(header.clone());
        }
        request
    }

    /// Returns when to [warn](Hop::warn_of_silence) that the proxy hasn't replied, if at all.
    pub fn suspicious_after(&self) -> Option<Duration> {
        self.has_spoken.as_ref().map(|_| SUSPICIOUS)
    }

    /// Logs a warning that the proxy may speak HTTP, unless it has sent anything.
    pub fn warn_of_silence(&self) {
        if !self.is_suspect() {
            return;
        }
        let proxies = self.before().chain(Some(self.spec()));
        let proxies = proxies.map(ToString::to_string).collect();
        let path = TunnelPath::to(self.target()).through(proxies);
        let context = LogContext::current();
        let heading = Heading(context.as_ref(), Some(&path));
        let silent = SUSPICIOUS.as_secs();
        field::log(
            Warn,
            format_args!(
                "{}no reply from {} for {}s: {}",
                heading,
                self.peer(),
                silent,
                SUSPICION
            ),
            || path.fields(),
        );
    }

    /// Makes the error of a proxy that didn't reply within `limit`: the target's fault if the proxy has
    /// opened or refused another tunnel meanwhile or shortly before.
    pub fn late(&self, limit: Duration) -> Error {
        let lately = limit + LATELY;
        if self.proxy.health.was_heard_within(lately, Instant::now()) {
            return Error::waiting(self.peer(), self.target(), limit);
        }
        let why = Some(SUSPICION).filter(|_| self.is_suspect());
        Error::late(Phase::Handshaking, self.peer(), limit, why)
    }

    /// Returns whether the proxy may speak HTTP instead of SOCKS: it has sent nothing.
    fn is_suspect(&self) -> bool {
        let has_spoken = self.has_spoken.as_ref();
        has_spoken.map_or(false, |has_spoken| !has_spoken.load(Ordering::Relaxed))
    }
}
