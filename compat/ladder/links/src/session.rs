//! One client from its acceptance to its end: the chain of the root, as `async fn`.
//!
//! It is `session.rs`, `path.rs` and `negotiate.rs` of the root's `engine/`: `and_then` has become
//! `.await?`, `loop_fn` a `loop`, `or_else` a `match`, and `Either` and the clones for each closure
//! are gone. An `async fn` keeps its locals to its end: where that is a socket or memory, a block or a
//! `Box` ends earlier.

use std::future::{poll_fn, Future};
use std::io;
use std::pin::{pin, Pin};
use std::task::Poll;
use std::time::Duration;

use log::debug;
use ptunnel::config::{Destination, Family, HostPort};
use ptunnel::observe::access_log::{ClientSession, LogContext, LogScope};
use ptunnel::observe::diagnose::{observe, PathEvent};
use ptunnel::observe::session::SessionSummary;
use ptunnel::proto::{Outcome, RequestBoundary};
use ptunnel::upstream::{pac, Failover, Hop, ProxyChain, Tunnel};
use ptunnel::{Error, Peer, Phase};
use tokio::time::timeout;

use crate::io::{Forwarding, Rewind, Tcp, Transport, Upstream};
use crate::limits::within;
use crate::{secure, Connect, Engine, Links, Resolver};

/// A path to the destination, opened for one client.
pub struct Opened<S = Rewind<Upstream>> {
    /// The stream to the destination; bytes that came with the proxy's reply are read first.
    pub stream: S,
    /// The proxies that it leads through.
    pub path: ProxyChain,
}

impl<L: Connect> Engine<L> {
    /// Opens the tunnel for one client, relays its bytes and logs its end.
    ///
    /// The future owns the client. It closes the connection when the tunnel has ended, and resets it if
    /// the tunnel is cut.
    ///
    /// # Errors
    ///
    /// Those of opening the tunnel: no byte was read from the client. If the client resets its
    /// connection before, the opening is dropped; that is no error.
    pub async fn carry<C>(
        &self,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> Result<SessionSummary, Error>
    where
        C: Transport + 'static,
    {
        let destination = tunnel.destination().clone();
        // Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
        let opening = Box::pin(unless_left(&client, session.context(), self.open(tunnel)));
        let Opened { stream, path } = match opening.await {
            Ok(opened) => opened?,
            Err(error) => return Ok(session.left(&destination, error)),
        };
        let log = session.opened(destination, path);
        let recorder = log.byte_recorder();
        // The usual relay is of two sockets. The others are boxed, to take no room in it.
        let end = match Upstream::bare(stream) {
            Ok(stream) => self.links.relay(client, stream, recorder).await,
            Err(stream) => Box::pin(self.links.relay(client, stream, recorder)).await,
        };
        Ok(log.log(end))
    }

    /// Opens a path to the tunnel's destination: the first candidate of its selector that works.
    ///
    /// Dropping the future closes every connection that it has opened.
    ///
    /// # Errors
    ///
    /// That of the last candidate, or the first that forbids another attempt, such as a refusal.
    pub async fn open(&self, tunnel: &Tunnel) -> Result<Opened, Error> {
        let mut failover = self.failover(tunnel).await?;
        while let Some(path) = failover.next() {
            observe(|| PathEvent::PathStarted(&path));
            match self.open_by(&path, tunnel).await {
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

    /// Opens one candidate, and TLS with the destination where the tunnel has that.
    async fn open_by(&self, path: &ProxyChain, tunnel: &Tunnel) -> Result<Rewind<Upstream>, Error> {
        let Destination { address, tls } = tunnel.destination();
        let stream = match path.last_hop(tunnel) {
            Some(hop) => self.connect(hop).await?,
            None => self.open_directly(tunnel).await?,
        };
        if tls.is_none() {
            return Ok(stream);
        }
        let peer = Peer::Destination(address.clone());
        let limit = self.settings.timeouts.handshake;
        let late = || Error::timed_out(Phase::Handshaking, peer.clone(), limit);
        within(limit, late, secure(stream, &peer, tls)).await
    }

    /// Reaches the proxy of a hop: through the hop before it, or by dialing it.
    async fn reach(&self, hop: &Hop) -> Result<Rewind<Upstream>, Error> {
        match hop.previous() {
            Some(previous) => self.connect(previous).await,
            None => {
                let (peer, address) = (hop.peer(), &hop.spec().address);
                Ok(bare(self.dial(&peer, address, hop.family()).await?))
            }
        }
    }

    /// Connects to the target of a hop, through its proxy. Boxed, since it contains itself.
    fn connect(&self, hop: Hop) -> Connected<'_> {
        Box::pin(async move {
            let hop = self.locate(hop).await?;
            let stream = self.reach(&hop).await?;
            until_clear(&hop).await;
            debug!("{}: connected, asking for {}", hop.peer(), hop.target());
            let limit = self.settings.timeouts.handshake;
            let late = || hop.late(limit);
            let asked = self.ask(stream, &hop);
            match hop.suspicious_after() {
                None => within(limit, late, asked).await,
                Some(time) => {
                    let asked = warning_after(time, &hop, Box::pin(asked));
                    within(limit, late, asked).await
                }
            }
        })
    }

    /// Negotiates with one proxy, over as many connections as its authentication needs, each in TLS if
    /// the proxy speaks that.
    async fn ask(
        &self,
        mut stream: Rewind<Upstream>,
        hop: &Hop,
    ) -> Result<Rewind<Upstream>, Error> {
        let mut negotiation = hop.negotiation();
        loop {
            observe(|| PathEvent::HopStarted(hop));
            let secured = secure(stream, &hop.peer(), &hop.spec().tls).await?;
            observe(|| PathEvent::NegotiationStarted(&negotiation));
            let asked = self.links.connect(secured, negotiation, hop);
            negotiation = match asked.await? {
                Outcome::Granted(stream) => {
                    observe(|| PathEvent::Granted);
                    return Ok(stream.flatten());
                }
                Outcome::Redial(negotiation) => *negotiation,
            };
            observe(|| PathEvent::RedialStarted(&negotiation));
            debug!("{}: answering on a new connection", hop.peer());
            let reached = self.reach(hop).await;
            stream = reached.map_err(|e| Error::redial(hop.peer(), e))?;
        }
    }

    async fn open_directly(&self, tunnel: &Tunnel) -> Result<Rewind<Upstream>, Error> {
        let destination = &tunnel.destination().address;
        let peer = Peer::Destination(destination.clone());
        let family = tunnel.family();
        let resolver = self.settings.resolver_for(tunnel);
        let socket = self.dial_by(resolver, &peer, destination, family).await?;
        Ok(bare(socket))
    }
}

/// See `connect`.
type Connected<'a> = Pin<Box<dyn Future<Output = Result<Rewind<Upstream>, Error>> + 'a>>;

fn bare(socket: Tcp) -> Rewind<Upstream> {
    Rewind::new(Upstream::Bare(socket), Vec::new())
}

/// Resolves once the proxy may get the password, at the latest after the hop's limit.
pub async fn until_clear(hop: &Hop) {
    let Some(limit) = hop.auth_wait() else {
        return;
    };
    let clear = poll_fn(|context| {
        let notify = || {
            let waker = context.waker().clone();
            Box::new(move || waker.wake()) as Box<dyn FnOnce() + Send>
        };
        match hop.is_clear(notify) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    let _elapsed = timeout(limit, clear).await;
}

/// Returns what `asked` resolves to; warns once if that takes longer than `time`.
async fn warning_after<T>(
    time: Duration,
    hop: &Hop,
    mut asked: Pin<Box<impl Future<Output = T>>>,
) -> T {
    match timeout(time, &mut asked).await {
        Ok(answer) => answer,
        Err(_elapsed) => {
            hop.warn_of_silence();
            asked.await
        }
    }
}

/// Returns a stream that carries one request and its reply.
pub(crate) fn forwarding(stream: Rewind<Upstream>, boundary: RequestBoundary) -> Rewind<Upstream> {
    let forwarding = Forwarding::new(stream, boundary);
    Rewind::new(Upstream::Forwarding(Box::new(forwarding)), Vec::new())
}

/// Runs a tunnel's opening until the client resets its connection: a proxy that hangs must not hold
/// resources that no client waits for. A FIN of the client ends nothing, since a client that has sent
/// everything waits for the answer. What the opening logs carries the fields of `context`.
///
/// # Errors
///
/// The client's, such as a reset.
pub(crate) async fn unless_left<T>(
    client: &impl Transport,
    context: &LogContext,
    opening: impl Future<Output = T>,
) -> io::Result<T> {
    let mut opening = pin!(opening);
    let mut scope = LogScope::of(context);
    let scoped = poll_fn(|cx| scope.enter(|| opening.as_mut().poll(cx)));
    tokio::select! {
        biased;
        opened = scoped => Ok(opened),
        error = client.failed() => Err(error),
    }
}

impl<L: Links> Engine<L> {
    /// Connects within the connect timeout.
    ///
    /// # Errors
    ///
    /// Those of [`dial`](crate::dial()); that the time limit is over.
    pub async fn dial(
        &self,
        peer: &Peer,
        address: &HostPort,
        family: Family,
    ) -> Result<Tcp, Error> {
        self.dial_by(&self.settings.resolver, peer, address, family)
            .await
    }

    /// Connects within the connect timeout, and looks the name up with this resolver.
    ///
    /// # Errors
    ///
    /// Those of [`dial`](crate::dial()); that the time limit is over.
    pub async fn dial_by(
        &self,
        resolver: &Resolver,
        peer: &Peer,
        address: &HostPort,
        family: Family,
    ) -> Result<Tcp, Error> {
        debug!("{peer}: connecting");
        let timeouts = &self.settings.timeouts;
        let (limit, keepalive) = (timeouts.connect, timeouts.tcp_keepalive);
        let late = || Error::timed_out(Phase::Connecting, peer.clone(), limit);
        within(
            limit,
            late,
            crate::dial(peer.clone(), address, family, resolver, keepalive),
        )
        .await
    }

    /// Returns the candidates. A PAC file is evaluated on the resolver's threads, since it may look
    /// names up.
    ///
    /// # Errors
    ///
    /// Those of the PAC file; that its time limit is over.
    pub async fn failover(&self, tunnel: &Tunnel) -> Result<Failover, Error> {
        if let Some(failover) = tunnel.failover() {
            return Ok(failover);
        }
        observe(|| PathEvent::PacStarted);
        let limit = self.settings.timeouts.connect.min(pac::LONGEST);
        let evaluated = tunnel.clone();
        let answer = async {
            let resolver = self.settings.resolver_for(tunnel);
            let answer = resolver.run(move || evaluated.evaluate_pac(limit)).await;
            answer.map_err(|e| Error::other("cannot ask the PAC file", e))?
        };
        let (answer, failover) = within(limit, || tunnel.pac_late(limit), answer).await?;
        observe(|| PathEvent::PacAnswered(tunnel, &answer));
        Ok(failover)
    }

    /// Looks the hop's target up, if the proxy takes addresses only.
    ///
    /// # Errors
    ///
    /// Those of the resolver; that the time limit is over; that the proxy can't connect to any of the
    /// addresses.
    pub async fn locate(&self, hop: Hop) -> Result<Hop, Error> {
        let Some(target) = hop.target_to_locate() else {
            return Ok(hop);
        };
        let peer = hop.target_peer();
        let limit = self.settings.timeouts.connect;
        let late = || Error::timed_out(Phase::Locating, peer.clone(), limit);
        observe(|| PathEvent::LookupStarted);
        let lookup = async {
            let found = self
                .settings
                .resolver
                .lookup(target, hop.target_family())
                .await;
            found.map_err(|e| Error::locate(peer.clone(), e))
        };
        let addresses = within(limit, late, lookup).await?;
        let hop = hop.at(&addresses)?;
        observe(|| PathEvent::Located(&hop));
        Ok(hop)
    }
}
