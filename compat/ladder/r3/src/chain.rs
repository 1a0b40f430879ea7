//! One client from its acceptance to its end, as the chain of combinators that it was.
//!
//! Three things differ from `engine/session.rs` and `engine/path.rs` of the root: r5's `async fn` in
//! [`As01`] dials a socket, a limit is tokio 1's `sleep` in an [`As01`], and the streams are
//! [`Bridged`]. The links, their order and their ownership are the same.

use std::rc::Rc;
use std::time::Duration;

use futures01::future::{self, Either, Loop};
use futures01::Future;
use log::debug;
use ptunnel::config::{Destination, Family, HostPort};
use ptunnel::engine::io::{Rewind, Upstream as Upstream01};
use ptunnel::engine::{abort_on_reset, logged_as, negotiate, secure};
use ptunnel::observe::access_log::ClientSession;
use ptunnel::observe::session::SessionSummary;
use ptunnel::upstream::{Failover, Hop, ProxyChain, Tunnel};
use ptunnel::{Error, Peer, Phase};
use ptunnel_r5::io::{Tcp, Transport};
use ptunnel_r5::Resolver;
use tokio::time::sleep;
use tokio_core_compat::task::As01;

use crate::bridged::Bridged;
use crate::Rung3;

type Engine = Rc<ptunnel_r5::Engine<Rung3>>;
type Upstream = Upstream01<Bridged<Tcp>>;
/// A path to a destination, opened.
pub(crate) type Stream = Rewind<Upstream>;
type Opened = (Stream, ProxyChain);
type Reach = Box<dyn Future<Item = Stream, Error = Error>>;

/// Serves one client: opens a path, carries its bytes, logs its end.
pub(crate) fn carry<C: Transport + 'static>(
    engine: &Engine,
    client: Bridged<C>,
    session: ClientSession,
    tunnel: &Tunnel,
) -> impl Future<Item = SessionSummary, Error = Error> {
    let engine = engine.clone();
    let destination = tunnel.destination().clone();
    let open = logged_as(session.context(), || open(&engine, tunnel));
    let opening = abort_on_reset(client, open);
    opening.and_then(move |outcome| {
        let (client, (stream, path)) = match outcome {
            Ok(opened) => opened,
            Err(e) => {
                let carried = session.left(&destination, e);
                return Either::A(boxed(future::ok(carried)));
            }
        };
        let log = session.opened(destination, path);
        // The usual relay is of two sockets. The others are boxed, to take no room in it.
        let (client, recorder) = (client.unchecked(), log.byte_recorder());
        match Upstream::bare(stream) {
            Ok(stream) => {
                let relay = engine.links.relay_01(client, stream, recorder);
                Either::B(relay.then(|end| Ok(log.log(end))))
            }
            Err(stream) => {
                let relay = engine.links.relay_01(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(log.log(end)))))
            }
        }
    })
}

/// Opens a path to the tunnel's destination: through the first proxy that can be used, or
/// directly where that is allowed.
pub(crate) fn open(engine: &Engine, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
    let engine = engine.clone();
    failover(&engine, tunnel).and_then(move |failover| {
        future::loop_fn(failover, move |mut failover| {
            let Some(path) = failover.next() else {
                return Either::A(future::err(failover.give_up()));
            };
            let attempt = open_by(&engine, &path, failover.tunnel());
            Either::B(attempt.then(move |answer| match answer {
                Ok(stream) => {
                    failover.worked(&path);
                    Ok(Loop::Break((stream, path)))
                }
                Err(error) => failover.failed(&path, error).map(Loop::Continue),
            }))
        })
    })
}

/// Returns the candidates. r5 evaluates a PAC file, and limits that.
fn failover(engine: &Engine, tunnel: &Tunnel) -> impl Future<Item = Failover, Error = Error> {
    match tunnel.failover() {
        Some(failover) => Either::A(future::ok(failover)),
        None => {
            let (engine, tunnel) = (engine.clone(), tunnel.clone());
            Either::B(As01::pin(async move { engine.failover(&tunnel).await }))
        }
    }
}

/// Opens one candidate, and TLS with the destination where the tunnel has that.
fn open_by(
    engine: &Engine,
    path: &ProxyChain,
    tunnel: &Tunnel,
) -> impl Future<Item = Stream, Error = Error> {
    let reached = match path.last_hop(tunnel) {
        Some(hop) => Either::A(connect(engine, hop)),
        None => Either::B(open_directly(engine, tunnel)),
    };
    if tunnel.destination().tls.is_none() {
        return Either::A(reached);
    }
    let (limit, tunnel) = (engine.settings.timeouts.handshake, tunnel.clone());
    Either::B(reached.and_then(move |stream| secure_in_time(limit, stream, &tunnel)))
}

/// Opens TLS with the destination, over the path to it.
fn secure_in_time(
    limit: Duration,
    stream: Stream,
    tunnel: &Tunnel,
) -> impl Future<Item = Stream, Error = Error> {
    let Destination { address, tls } = tunnel.destination();
    let peer = Peer::Destination(address.clone());
    let late = Error::timed_out(Phase::Handshaking, peer.clone(), limit);
    in_time(limit, late, secure(stream, peer, tls))
}

/// Reaches the proxy of a hop: through the hop before it, or by dialing it.
fn reach(engine: &Engine, hop: &Hop) -> Reach {
    match hop.previous() {
        Some(previous) => connect(engine, previous),
        None => {
            let (address, resolver) = (&hop.spec().address, &engine.settings.resolver);
            Box::new(dial(engine, resolver, hop.peer(), address, hop.family()).map(bare))
        }
    }
}

/// Connects to the target of a hop, through its proxy. Boxed, since it contains itself.
fn connect(engine: &Engine, hop: Hop) -> Reach {
    let located = locate(engine, hop);
    let engine = engine.clone();
    Box::new(located.and_then(move |hop| {
        reach(&engine, &hop).and_then(move |stream| {
            let clear = until_clear(&hop);
            clear.and_then(move |()| ask_in_time(&engine, stream, hop))
        })
    }))
}

/// Resolves once the proxy may get the password, at the latest after the hop's limit.
fn until_clear(hop: &Hop) -> impl Future<Item = (), Error = Error> {
    if hop.auth_wait().is_none() {
        return Either::A(future::ok(()));
    }
    let hop = hop.clone();
    Either::B(As01::pin(async move {
        ptunnel_r5::until_clear(&hop).await;
        Ok(())
    }))
}

/// Negotiates with one proxy, over a stream that has reached it.
fn ask_in_time(
    engine: &Engine,
    stream: Rewind<Upstream>,
    hop: Hop,
) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
    debug!("{}: connected, asking for {}", hop.peer(), hop.target());
    let (limit, silent) = (engine.settings.timeouts.handshake, hop.clone());
    let late = As01::pin(async move {
        if let Some(time) = silent.suspicious_after().filter(|time| *time < limit) {
            sleep(time).await;
            silent.warn_of_silence();
            sleep(limit - time).await;
        } else {
            sleep(limit).await;
        }
        Err(silent.late(limit))
    });
    let reach = {
        let (engine, hop) = (engine.clone(), hop.clone());
        move || reach(&engine, &hop)
    };
    unless(late, negotiate(stream, hop.negotiation(), hop, reach))
}

/// Looks the hop's target up, if the proxy takes addresses only; r5 limits that.
fn locate(engine: &Engine, hop: Hop) -> impl Future<Item = Hop, Error = Error> {
    let engine = engine.clone();
    As01::pin(async move { engine.locate(hop).await })
}

fn open_directly(engine: &Engine, tunnel: &Tunnel) -> impl Future<Item = Stream, Error = Error> {
    let destination = &tunnel.destination().address;
    let family = tunnel.family();
    dial(
        engine,
        engine.settings.resolver_for(tunnel),
        Peer::Destination(destination.clone()),
        destination,
        family,
    )
    .map(bare)
}

/// Dials as r5 does, with its limit, and bridges the socket.
fn dial(
    engine: &Engine,
    resolver: &Resolver,
    peer: Peer,
    address: &HostPort,
    family: Family,
) -> impl Future<Item = Bridged<Tcp>, Error = Error> {
    let (engine, resolver, address) = (engine.clone(), resolver.clone(), address.clone());
    As01::pin(async move { engine.dial_by(&resolver, &peer, &address, family).await })
        .map(Bridged::new)
}

fn bare(socket: Bridged<Tcp>) -> Rewind<Upstream> {
    Rewind::new(Upstream::Bare(socket), Vec::new())
}

/// Boxes the rarer parts of [`carry`], so that they take no room in every tunnel.
fn boxed(
    end: impl Future<Item = SessionSummary, Error = Error> + 'static,
) -> Box<dyn Future<Item = SessionSummary, Error = Error>> {
    Box::new(end)
}

/// Fails with `late` after `limit`, which begins with the first poll.
fn in_time<T>(
    limit: Duration,
    late: Error,
    future: impl Future<Item = T, Error = Error>,
) -> impl Future<Item = T, Error = Error> {
    let late = As01::pin(async move {
        sleep(limit).await;
        Err(late)
    });
    unless(late, future)
}

/// Resolves as `future` does, unless `late` fails first.
fn unless<T>(
    late: impl Future<Item = T, Error = Error>,
    future: impl Future<Item = T, Error = Error>,
) -> impl Future<Item = T, Error = Error> {
    future
        .select(late)
        .map(|(item, _)| item)
        .map_err(|(error, _)| error)
}
