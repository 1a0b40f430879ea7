//! A path to a tunnel's destination: directly, through a proxy, or through a chain of proxies.
//!
//! ```text
//!   candidates ──▶ each, until one works:
//!   (a PAC file      dial ──▶ [TLS] ──▶ CONNECT ──▶ … a hop each … ──▶ [TLS to the destination]
//!    is evaluated)
//! ```
//!
//! Each phase has its own limit, by [`within`].

use std::future::{poll_fn, Future};
use std::net::SocketAddr;
use std::pin::{pin, Pin};
use std::task::Poll;
use std::time::Duration;

use log::debug;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::io::{Rewind, Upstream};
use crate::limits::within;
use crate::negotiate::negotiate;
use crate::{announce, dial, secure, Engine, Settings, Tunnel};
use ptunnel_core::config::Destination;
use ptunnel_core::error::{Error, Peer, Phase};
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::upstream::{pac, Failover, Hop, Lookup, ProxyChain};

/// A path to the destination, opened for one client.
pub struct Opened {
    /// The stream to the destination; bytes that came with the proxy's reply are read first.
    pub stream: Rewind<Upstream>,
    /// The proxies on the path.
    pub path: ProxyChain,
}

impl Engine {
    /// Opens a path to the tunnel's destination: the first candidate of its selector that works.
    ///
    /// Returns a connected stream, which belongs to the caller; dropping the future closes every
    /// connection that it has opened.
    ///
    /// # Errors
    ///
    /// The error of the last candidate, or the first that forbids another attempt, such as a refusal.
    pub async fn open(&self, tunnel: &Tunnel) -> Result<Opened, Error> {
        let failover = match tunnel.failover() {
            Some(failover) => failover,
            None => self.evaluate_pac(tunnel).await?,
        };
        self.open_first(failover).await
    }

    /// Tries one candidate after the other.
    async fn open_first(&self, mut failover: Failover) -> Result<Opened, Error> {
        while let Some(path) = failover.next() {
            observe(|| PathEvent::PathStarted(&path));
            match self.open_via(&path, failover.tunnel()).await {
                Ok(stream) => {
                    failover.worked(&path);
                    return Ok(Opened { stream, path });
                }
                Err(error) => {
                    observe(|| PathEvent::PathFailed(&error));
                    failover = failover.failed(&path, error)?;
                }
            }
        }
        Err(failover.give_up())
    }

    /// Evaluates the PAC file on the resolver's threads, because it can look up names.
    async fn evaluate_pac(&self, tunnel: &Tunnel) -> Result<Failover, Error> {
        observe(|| PathEvent::PacStarted);
        let limit = self.settings().timeouts.connect.min(pac::LONGEST);
        // Reserved now: clients that are accepted meanwhile could take the last descriptor.
        let reserved = self.handle().reserve_fd().ok();
        let (resolver, chosen_by) = (&self.settings().resolver, tunnel.lookup().chosen_by());
        let evaluated = tunnel.clone();
        let answer = resolver
            .run(chosen_by, move || evaluated.evaluate_pac(limit))
            .map_err(|e| tunnel.pac_unstarted(e))?;
        let answer = within(answer, limit, || tunnel.pac_late(limit)).await;
        drop(reserved);
        let (answer, failover) = answer?;
        observe(|| PathEvent::PacAnswered(failover.tunnel(), &answer));
        Ok(failover)
    }

    /// Opens one candidate, and sends the destination what comes first: a PROXY header, TLS.
    async fn open_via(
        &self,
        path: &ProxyChain,
        tunnel: &Tunnel,
    ) -> Result<Rewind<Upstream>, Error> {
        let Destination { address, tls } = tunnel.destination();
        let peer = Peer::Destination(address.clone());
        let stream = match path.last_hop(tunnel) {
            Some(hop) => self.connect(hop).await?,
            None => self.dial(peer.clone(), tunnel.lookup()).await?,
        };
        let header = tunnel.proxy_header();
        if tls.is_none() && header.is_empty() {
            return Ok(stream);
        }
        let limit = self.settings().timeouts.handshake;
        let secured = async {
            let announced = announce(stream, header, peer.clone()).await?;
            secure(announced, peer.clone(), tls).await
        };
        within(secured, limit, || {
            Error::timed_out(Phase::Handshaking, peer.clone(), limit)
        })
        .await
    }

    /// Reaches the proxy of a hop: through the hop before it, or by dialing it.
    async fn reach(&self, hop: &Hop) -> Result<Rewind<Upstream>, Error> {
        match hop.previous() {
            Some(previous) => self.connect(previous).await,
            None => {
                let dialed = self.dial(hop.peer(), hop.lookup());
                let dialed = unless_unreachable(dialed, hop);
                let (stream, header) = (dialed.await?, hop.proxy_header());
                // The send buffer of a new connection has room for it.
                announce(stream, header, hop.peer()).await
            }
        }
    }

    /// Connects to the target of a hop, through its proxy. Looks up the target first if the proxy
    /// takes addresses only. Boxed, since it contains itself.
    fn connect(&self, hop: Hop) -> BoxFuture<'_, Rewind<Upstream>> {
        Box::pin(async move {
            let found = match hop.target_lookup() {
                Some(lookup) => self.locate(hop.target_peer(), lookup).await?,
                None => return self.connect_located(hop).await,
            };
            let hop = hop.at(&found)?;
            observe(|| PathEvent::Located(&hop));
            self.connect_located(hop).await
        })
    }

    /// Reaches the proxy, waits while another tunnel tries the password, and negotiates.
    async fn connect_located(&self, hop: Hop) -> Result<Rewind<Upstream>, Error> {
        let stream = self.reach(&hop).await?;
        if let Some(limit) = hop.auth_wait() {
            until_clear(&hop, limit).await;
        }
        self.negotiate_in_time(stream, hop).await
    }

    /// Negotiates with one proxy within the handshake timeout, over a stream that has reached it.
    async fn negotiate_in_time(
        &self,
        stream: Rewind<Upstream>,
        hop: Hop,
    ) -> Result<Rewind<Upstream>, Error> {
        debug!("{}: connected, asking for {}", hop.peer(), hop.target());
        let limit = self.settings().timeouts.handshake;
        let reach = async || self.reach(&hop).await;
        let negotiated = negotiate(stream, hop.negotiation(), &hop, reach);
        let negotiated = async {
            match hop.suspicious_after() {
                Some(time) => warning_after(time, &hop, negotiated).await,
                None => negotiated.await,
            }
        };
        let negotiated = within(negotiated, limit, || hop.late(limit)).await;
        negotiated.map_err(|error| hop.settled(error))
    }

    /// Looks up the target of a hop, within the connect timeout.
    async fn locate(&self, peer: Peer, lookup: Lookup<'_>) -> Result<Vec<SocketAddr>, Error> {
        observe(|| PathEvent::LookupStarted);
        let Settings {
            timeouts, resolver, ..
        } = self.settings();
        let (limit, failed) = (timeouts.connect, peer.clone());
        let found = async {
            resolver
                .lookup(lookup)
                .await
                .map_err(|e| Error::locate(failed, e))
        };
        within(found, limit, || {
            Error::timed_out(Phase::Locating, peer.clone(), limit)
        })
        .await
    }

    /// Dials a proxy or the destination, within the connect timeout.
    async fn dial(&self, peer: Peer, lookup: Lookup<'_>) -> Result<Rewind<Upstream>, Error> {
        debug!("{}: connecting", peer);
        let Settings {
            timeouts, resolver, ..
        } = self.settings();
        let (limit, keepalive) = (timeouts.connect, timeouts.tcp_keepalive);
        let dial = dial::dial(peer.clone(), lookup, resolver, keepalive, self.handle());
        let socket = within(dial, limit, || {
            Error::timed_out(Phase::Connecting, peer.clone(), limit)
        })
        .await?;
        Ok(Rewind::new(Upstream::Bare(socket), Vec::new()))
    }
}

/// A boxed future: one that contains itself.
type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + 'a>>;

/// Resolves once the password can be sent to the proxy, after `limit` at the latest.
async fn until_clear(hop: &Hop, limit: Duration) {
    let clear = poll_fn(|cx| {
        let notify = || {
            let waker = cx.waker().clone();
            Box::new(move || waker.wake()) as Box<dyn FnOnce() + Send>
        };
        match hop.is_clear(notify) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    let _elapsed = timeout(limit, clear).await;
}

/// Returns what the future resolves to; warns once if it isn't done after `time`.
async fn warning_after<T>(time: Duration, hop: &Hop, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match timeout(time, &mut future).await {
        Ok(item) => item,
        Err(_elapsed) => {
            hop.warn_of_silence();
            future.await
        }
    }
}

/// Returns what the future resolves to, or fails once another client finds the proxy unreachable, if
/// this one has another path.
async fn unless_unreachable<T>(
    dialed: impl Future<Output = Result<T, Error>>,
    hop: &Hop,
) -> Result<T, Error> {
    if !hop.has_alternative() {
        return dialed.await;
    }
    let (sender, found) = oneshot::channel::<()>();
    let _watch = hop.watch(move || drop(sender));
    tokio::select! {
        dialed = dialed => dialed,
        _ = found => Err(hop.unreachable()),
    }
}
