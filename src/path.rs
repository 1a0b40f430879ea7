//! A path to a tunnel's destination: directly, through a proxy, or through a chain of proxies.
//!
//! ```text
//!   candidates ──▶ each, until one works:
//!   (a PAC file      dial ──▶ [TLS] ──▶ CONNECT ──▶ … a hop each … ──▶ [TLS to the destination]
//!    is evaluated)
//! ```
//!
//! Each phase has its own [`deadline`]. Rare futures are boxed, so that they take no memory in the
//! future of every tunnel.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::{self, Either, Loop};
use futures::sync::oneshot;
use futures::{task, Async, Future};
use log::debug;

use crate::io::{Rewind, Upstream};
use crate::limits::deadline;
use crate::negotiate::negotiate;
use crate::{announce, boxed, dial, secure, BoxFuture, Engine, Settings, Tunnel};
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
    /// Resolves to a connected stream, which belongs to the caller; dropping the future closes every
    /// connection that it has opened. Fails with the error of the last candidate, or with the first
    /// that forbids another attempt, such as a refusal.
    pub fn open(&self, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
        match tunnel.failover() {
            Some(failover) => Either::A(self.open_first(failover)),
            None => {
                let engine = self.clone();
                let known = self.evaluate_pac(tunnel);
                let open = move |failover| engine.open_first(failover);
                Either::B(boxed(known.and_then(open)))
            }
        }
    }

    /// Tries one candidate after the other.
    fn open_first(&self, failover: Failover) -> impl Future<Item = Opened, Error = Error> {
        let engine = self.clone();
        future::loop_fn(failover, move |mut failover| {
            let path = match failover.next() {
                Some(path) => path,
                None => return Either::A(future::err(failover.give_up())),
            };
            observe(|| PathEvent::PathStarted(&path));
            let attempt = engine.open_via(&path, failover.tunnel());
            Either::B(attempt.then(move |answer| match answer {
                Ok(stream) => {
                    failover.worked(&path);
                    Ok(Loop::Break(Opened { stream, path }))
                }
                Err(error) => {
                    observe(|| PathEvent::PathFailed(&error));
                    failover.failed(&path, error).map(Loop::Continue)
                }
            }))
        })
    }

    /// Evaluates the PAC file on the resolver's threads, because it can look up names.
    fn evaluate_pac(&self, tunnel: &Tunnel) -> impl Future<Item = Failover, Error = Error> {
        observe(|| PathEvent::PacStarted);
        let limit = self.settings().timeouts.connect.min(pac::LONGEST);
        // Reserved now: clients that are accepted meanwhile could take the last descriptor.
        let reserved = self.handle().reserve_fd().ok();
        let (resolver, chosen_by) = (&self.settings().resolver, tunnel.lookup().chosen_by());
        let (tunnel, late) = (tunnel.clone(), tunnel.clone());
        let answer = match resolver.run(chosen_by, move || tunnel.evaluate_pac(limit)) {
            Ok(answer) => answer,
            Err(e) => return Either::A(future::err(late.pac_unstarted(e))),
        };
        let answer = answer.then(move |answer| {
            drop(reserved);
            answer
        });
        let answer = deadline(answer, limit, self.timer(), move || late.pac_late(limit));
        Either::B(answer.map(|(answer, failover)| {
            observe(|| PathEvent::PacAnswered(failover.tunnel(), &answer));
            failover
        }))
    }

    /// Opens one candidate, and sends the destination what comes first: a PROXY header, TLS.
    fn open_via(
        &self,
        path: &ProxyChain,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let reached = match path.last_hop(tunnel) {
            Some(hop) => Either::A(self.connect(hop)),
            None => {
                let peer = Peer::Destination(tunnel.destination().address.clone());
                Either::B(self.dial(peer, tunnel.lookup()))
            }
        };
        let header = tunnel.proxy_header();
        if tunnel.destination().tls.is_none() && header.is_empty() {
            return Either::A(reached);
        }
        let (engine, tunnel) = (self.clone(), tunnel.clone());
        Either::B(boxed(reached.and_then(move |stream| {
            let Destination { address, tls } = tunnel.destination();
            let peer = Peer::Destination(address.clone());
            let limit = engine.settings().timeouts.handshake;
            let announced = announce(stream, header, peer.clone());
            let (named, tls) = (peer.clone(), tls.clone());
            let secured = announced.and_then(move |stream| secure(stream, named, &tls));
            deadline(secured, limit, engine.timer(), move || {
                Error::timed_out(Phase::Handshaking, peer.clone(), limit)
            })
        })))
    }

    /// Reaches the proxy of a hop: through the hop before it, or by dialing it. Boxed where it
    /// contains itself.
    fn reach(
        &self,
        hop: &Hop,
    ) -> Either<impl Future<Item = Rewind<Upstream>, Error = Error>, BoxFuture<Rewind<Upstream>>>
    {
        match hop.previous() {
            Some(previous) => Either::B(Box::new(self.connect(previous))),
            None => {
                let dialed = self.dial(hop.peer(), hop.lookup());
                let dialed = unless_unreachable(dialed, hop);
                let (header, peer) = (hop.proxy_header(), hop.peer());
                if header.is_empty() {
                    return Either::A(dialed);
                }
                // The send buffer of a new connection has room for it.
                Either::B(boxed(
                    dialed.and_then(move |stream| announce(stream, header, peer)),
                ))
            }
        }
    }

    /// Connects to the target of a hop, through its proxy. Looks up the target first if the proxy
    /// takes addresses only.
    fn connect(&self, hop: Hop) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let found = match hop.target_lookup() {
            None => return Either::A(self.connect_located(hop)),
            Some(lookup) => self.locate(hop.target_peer(), lookup),
        };
        let engine = self.clone();
        Either::B(boxed(found.and_then(move |addresses| {
            future::result(hop.at(&addresses)).and_then(move |hop| {
                observe(|| PathEvent::Located(&hop));
                engine.connect_located(hop)
            })
        })))
    }

    /// Reaches the proxy, waits while another tunnel tries the password, and negotiates.
    fn connect_located(&self, hop: Hop) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let engine = self.clone();
        self.reach(&hop)
            .and_then(move |stream| match hop.auth_wait() {
                None => Either::A(engine.negotiate_in_time(stream, hop)),
                Some(limit) => {
                    let clear = engine.until_clear(&hop, limit);
                    let negotiate = move |()| engine.negotiate_in_time(stream, hop);
                    Either::B(boxed(clear.and_then(negotiate)))
                }
            })
    }

    /// Negotiates with one proxy within the handshake timeout, over a stream that has reached it.
    fn negotiate_in_time(
        &self,
        stream: Rewind<Upstream>,
        hop: Hop,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        debug!("{}: connected, asking for {}", hop.peer(), hop.target());
        let (limit, late) = (self.settings().timeouts.handshake, hop.clone());
        let settled = hop.clone();
        let reach = {
            let (engine, hop) = (self.clone(), hop.clone());
            move || boxed(engine.reach(&hop))
        };
        let negotiated = negotiate(stream, hop.negotiation(), hop, reach);
        let negotiated = match late.suspicious_after() {
            Some(time) => Either::A(boxed(self.warning_after(time, &late, negotiated))),
            None => Either::B(negotiated),
        };
        deadline(negotiated, limit, self.timer(), move || late.late(limit))
            .map_err(move |error| settled.settled(error))
    }

    /// Resolves once the password can be sent to the proxy, after `limit` at the latest.
    fn until_clear(&self, hop: &Hop, limit: Duration) -> impl Future<Item = (), Error = Error> {
        let (hop, late) = (hop.clone(), hop.clone());
        let clear = future::poll_fn(move || {
            let notify = || {
                let task = task::current();
                Box::new(move || task.notify()) as Box<dyn FnOnce() + Send>
            };
            Ok(match hop.is_clear(notify) {
                true => Async::Ready(()),
                false => Async::NotReady,
            })
        });
        let clear = deadline(clear, limit, self.timer(), move || late.late(limit));
        clear.or_else(|_| Ok(()))
    }

    /// Returns the same future, which warns once if it isn't done after `time`.
    fn warning_after<T>(
        &self,
        time: Duration,
        hop: &Hop,
        future: impl Future<Item = T, Error = Error>,
    ) -> impl Future<Item = T, Error = Error> {
        let hop = hop.clone();
        let warning = deadline(future::empty(), time, self.timer(), move || {
            hop.warn_of_silence();
            hop.late(time)
        });
        let either = future.select(warning.or_else(|_| future::empty()));
        either.map(|(item, _)| item).map_err(|(error, _)| error)
    }

    /// Looks up the target of a hop, within the connect timeout.
    fn locate(
        &self,
        peer: Peer,
        lookup: Lookup,
    ) -> impl Future<Item = Vec<SocketAddr>, Error = Error> {
        observe(|| PathEvent::LookupStarted);
        let Settings {
            timeouts, resolver, ..
        } = self.settings();
        let (limit, failed) = (timeouts.connect, peer.clone());
        let found = resolver.lookup(lookup);
        let found = found.map_err(move |e| Error::locate(failed, e));
        deadline(found, limit, self.timer(), move || {
            Error::timed_out(Phase::Locating, peer.clone(), limit)
        })
    }

    /// Dials a proxy or the destination, within the connect timeout.
    fn dial(
        &self,
        peer: Peer,
        lookup: Lookup,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        debug!("{}: connecting", peer);
        let Settings {
            timeouts, resolver, ..
        } = self.settings();
        let (limit, keepalive) = (timeouts.connect, timeouts.tcp_keepalive);
        let dial = dial::dial(peer.clone(), lookup, resolver, keepalive, self.handle());
        deadline(dial, limit, self.timer(), move || {
            Error::timed_out(Phase::Connecting, peer.clone(), limit)
        })
        .map(|socket| Rewind::new(Upstream::Bare(socket), Vec::new()))
    }
}

/// Returns the same future, which fails once another client finds the proxy unreachable, if this one
/// has another path.
fn unless_unreachable<T>(
    dialed: impl Future<Item = T, Error = Error>,
    hop: &Hop,
) -> impl Future<Item = T, Error = Error> {
    if !hop.has_alternative() {
        return Either::A(dialed);
    }
    let (sender, receiver) = oneshot::channel::<()>();
    let watch = hop.watch(move || drop(sender));
    let hop = hop.clone();
    let found = receiver.then(move |_| {
        drop(watch);
        Err(hop.unreachable())
    });
    let either = dialed.select(found);
    Either::B(either.map(|(item, _)| item).map_err(|(error, _)| error))
}
