//! One client from its arrival to its end, as a chain; each link is a future of its own file.

use std::io;
use std::time::Duration;

use futures::future::{self, Either, Loop};
use futures::{task, Async, Future, Poll};
use log::debug;

use super::dial::Dial;
use super::forward::forwarding;
use super::limits::Deadline;
use super::negotiate::negotiate;
use super::resolve::Resolver;
use super::{secure, Engine, Tunnel};
use crate::config::{Destination, Family, HostPort};
use crate::engine::io::{Rewind, Socket, Transport, Upstream};
use crate::error::{Error, Peer, Phase};
use crate::observe::access_log::{ClientSession, LogContext, LogScope};
use crate::observe::session::SessionSummary;
use crate::proto::RequestBoundary;
use crate::upstream::{Candidates, Failover, Hop, PacQuery, ProxyChain, SilentProxy, UpstreamPath};

/// A way to the destination, opened for one client.
pub struct Opened {
    /// Carries the destination's bytes, first those that came with the proxy's reply.
    pub stream: Rewind<Upstream>,
    /// Which way it is.
    pub path: UpstreamPath,
}

impl Opened {
    /// Ends what the destination gets at this boundary, if there is one.
    pub(super) fn ending_at(self, boundary: Option<RequestBoundary>) -> Opened {
        match boundary {
            Some(boundary) => Opened {
                stream: forwarding(self.stream, boundary),
                ..self
            },
            None => self,
        }
    }
}

impl Engine {
    /// Serves one client: opens a way, carries its bytes, logs its end.
    ///
    /// The client belongs to the future, which closes it when its tunnel can't be opened or has
    /// ended, and resets it when the tunnel is cut. An error is one of opening: no byte was taken
    /// from the client. A client that is reset while it waits ends the opening; that is no error.
    pub fn carry(
        &self,
        client: Socket,
        session: impl Into<ClientSession>,
        tunnel: &Tunnel,
    ) -> impl Future<Item = SessionSummary, Error = Error> {
        let engine = self.clone();
        let destination = tunnel.destination().clone();
        let session = session.into();
        let opening = AbortOnReset::new(client, session.context(), || self.open(tunnel));
        opening.and_then(move |outcome| {
            let (client, opened) = match outcome {
                Ok(opened) => opened,
                Err(e) => {
                    let carried = session.left(&destination, e);
                    return Either::A(boxed(future::ok(carried)));
                }
            };
            engine.carry_opened(client, opened, session, destination)
        })
    }

    /// The last link: carries the client's bytes over what was opened for it, and logs its end.
    pub(super) fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        opened: Opened,
        session: ClientSession,
        destination: impl Into<Destination>,
    ) -> Either<BoxFuture<SessionSummary>, impl Future<Item = SessionSummary, Error = Error>> {
        let line = session.opened(destination, opened.path);
        // Kinds of relay, so that the usual one knows its socket, and that nobody looks. No other is
        // made of its types: its parts would be shared, and no longer inlined.
        match (Upstream::bare(opened.stream), line.byte_recorder()) {
            (Ok(stream), None) => {
                let relay = self.relay(client, stream);
                Either::B(relay.then(|end| Ok(line.log(end))))
            }
            (Ok(stream), recorder) => {
                let client = Rewind::new(client, Vec::new());
                let relay = self.recorded_relay(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(line.log(end)))))
            }
            (Err(stream), recorder) => {
                let relay = self.recorded_relay(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(line.log(end)))))
            }
        }
    }

    /// Opens a way to the tunnel's destination: through the first proxy of its gateway that can
    /// be used, or directly where that is allowed.
    ///
    /// Resolves to a connected stream, which belongs to the caller; dropping the future closes
    /// whatever it had opened so far.
    pub fn open(&self, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
        let (engine, tunnel) = (self.clone(), tunnel.clone());
        match tunnel.selector().candidates(&tunnel.destination().address) {
            Candidates::Known(attempts) => Either::A(engine.open_by_any(attempts, tunnel)),
            Candidates::Pac(question) => {
                let known = self.ask_file(question, &tunnel);
                let open = move |attempts| engine.open_by_any(attempts, tunnel);
                Either::B(boxed(known.and_then(open)))
            }
        }
    }

    /// Tries one way after the other.
    fn open_by_any(
        &self,
        attempts: Failover,
        tunnel: Tunnel,
    ) -> impl Future<Item = Opened, Error = Error> {
        let engine = self.clone();
        future::loop_fn(attempts, move |mut attempts| {
            let path = match attempts.next() {
                Some(path) => path,
                None => return Either::A(future::err(attempts.give_up())),
            };
            let attempt = engine.open_by(&path, &tunnel);
            let tunnel = tunnel.clone();
            Either::B(attempt.then(move |answer| match answer {
                Ok(stream) => {
                    path.worked();
                    Ok(Loop::Break(Opened { stream, path }))
                }
                Err(error) => attempts.failed(&tunnel, &path, error).map(Loop::Continue),
            }))
        })
    }

    /// The ways that a PAC file names: it is asked where names are looked up, since it looks some
    /// up, too.
    fn ask_file(
        &self,
        question: PacQuery,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Failover, Error = Error> {
        let limit = question.limit(&self.settings().timeouts);
        let asked = question.clone();
        // Keeps a descriptor back from new clients.
        let spare = self.handle().spare().ok();
        let answer = self
            .settings()
            .resolver_for(tunnel)
            .run(move || asked.answer(limit));
        let answer = match answer {
            Ok(answer) => answer,
            Err(e) => {
                let e = Error::other("cannot start a thread to evaluate the PAC file", e);
                return Either::A(future::err(e));
            }
        };
        let answer = answer.then(move |answer| {
            drop(spare);
            answer
        });
        Either::B(Deadline::new(answer, limit, self.timer(), move || {
            question.late(limit)
        }))
    }

    /// Asks each proxy on a way for the next one, and the last of them for the destination; speaks
    /// TLS with that, where it is to be spoken to so.
    fn open_by(
        &self,
        path: &UpstreamPath,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let tls = &tunnel.destination().tls;
        let reached = match path.proxy() {
            Some(way) => Either::A(self.ask_last(way, way.hop_count() - 1, tunnel)),
            None => Either::B(self.open_directly(tunnel)),
        };
        if tls.is_none() {
            return Either::A(reached);
        }
        let (engine, tunnel) = (self.clone(), tunnel.clone());
        let secured = reached.and_then(move |stream| engine.secure_in_time(stream, &tunnel));
        Either::B(boxed(secured))
    }

    /// TLS with the destination itself, over whatever way has led there.
    fn secure_in_time(
        &self,
        stream: Rewind<Upstream>,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let Destination { address, tls } = tunnel.destination();
        let (limit, peer) = (
            self.settings().timeouts.handshake,
            Peer::Destination(address.clone()),
        );
        let secured = secure(stream, peer.clone(), tls);
        Deadline::new(secured, limit, self.timer(), move || {
            Error::timed_out(Phase::Handshaking, peer.clone(), limit)
        })
    }

    /// Goes through so many proxies of a way, to the next one or the destination: without any, that
    /// is the first proxy. Boxed where it is a part of itself.
    fn reach(
        &self,
        way: &ProxyChain,
        hops: usize,
        tunnel: &Tunnel,
    ) -> Either<impl Future<Item = Rewind<Upstream>, Error = Error>, BoxFuture<Rewind<Upstream>>>
    {
        match hops.checked_sub(1) {
            None => Either::A(self.dial_proxy(way).map(bare)),
            Some(last) => Either::B(Box::new(self.ask_last(way, last, tunnel))),
        }
    }

    /// Goes through all proxies of a way up to `last`, and asks that one for the next, or for the
    /// destination.
    fn ask_last(
        &self,
        way: &ProxyChain,
        last: usize,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let hop = way.hop(last, &tunnel.destination().address);
        let reach_it = {
            let (engine, way, tunnel) = (self.clone(), way.clone(), tunnel.clone());
            move || engine.reach(&way, last, &tunnel)
        };
        match hop.target_to_locate().cloned() {
            None => Either::A(self.reach_and_ask(hop, reach_it)),
            Some(target) => {
                let engine = self.clone();
                let located = self.locate(hop, &target);
                let ask = move |hop| engine.reach_and_ask(hop, reach_it);
                Either::B(boxed(located.and_then(ask)))
            }
        }
    }

    /// Has one proxy reached, and asks it once it may be asked.
    fn reach_and_ask<F>(
        &self,
        hop: Hop,
        reach_it: impl Fn() -> F + 'static,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error>
    where
        F: Future<Item = Rewind<Upstream>, Error = Error> + 'static,
    {
        let engine = self.clone();
        reach_it().and_then(move |stream| match hop.auth_wait() {
            None => Either::A(engine.ask_in_time(stream, hop, reach_it)),
            Some(patience) => {
                let clear = engine.until_clear(&hop, patience);
                let ask = move |()| engine.ask_in_time(stream, hop, reach_it);
                Either::B(boxed(clear.and_then(ask)))
            }
        })
    }

    /// Asks one proxy, over a stream that has come to it.
    fn ask_in_time<F>(
        &self,
        stream: Rewind<Upstream>,
        hop: Hop,
        reach_it: impl Fn() -> F + 'static,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error>
    where
        F: Future<Item = Rewind<Upstream>, Error = Error> + 'static,
    {
        debug!("{}: connected, asking for {}", hop.peer(), hop.target());
        let (limit, silence) = (self.settings().timeouts.handshake, hop.silence());
        let negotiation = hop.negotiation();
        let asked = negotiate(stream, negotiation, hop, move || boxed(reach_it()));
        let asked = match silence.suspicious_after() {
            Some(time) => Either::A(boxed(self.warning_after(time, &silence, asked))),
            None => Either::B(asked),
        };
        Deadline::new(asked, limit, self.timer(), move || silence.error(limit))
    }

    /// Resolves once the proxy may be asked, or after a little patience.
    fn until_clear(&self, hop: &Hop, patience: Duration) -> impl Future<Item = (), Error = Error> {
        let (hop, silence) = (hop.clone(), hop.silence());
        let clear = future::poll_fn(move || {
            let tell = || {
                let task = task::current();
                Box::new(move || task.notify()) as Box<dyn FnOnce() + Send>
            };
            Ok(match hop.is_clear(tell) {
                true => Async::Ready(()),
                false => Async::NotReady,
            })
        });
        let clear = Deadline::new(clear, patience, self.timer(), move || {
            silence.error(patience)
        });
        clear.or_else(|_| Ok(()))
    }

    /// The same future; warns once when it isn't done after that time.
    fn warning_after<T>(
        &self,
        time: Duration,
        silence: &SilentProxy,
        future: impl Future<Item = T, Error = Error>,
    ) -> impl Future<Item = T, Error = Error> {
        let silence = silence.clone();
        let warning = Deadline::new(future::empty(), time, self.timer(), move || {
            silence.warn();
            silence.error(time)
        });
        let either = future.select(warning.or_else(|_| future::empty()));
        either.map(|(item, _)| item).map_err(|(error, _)| error)
    }

    /// Looks the target up if the proxy takes addresses only.
    fn locate(&self, hop: Hop, target: &HostPort) -> impl Future<Item = Hop, Error = Error> {
        let (limit, peer) = (self.settings().timeouts.connect, hop.target_peer());
        let found = self.settings().resolver.lookup(target, hop.family());
        let located = found.then({
            let peer = peer.clone();
            move |found| match found {
                Ok(addresses) => hop.at(&addresses),
                Err(e) => Err(Error::locate(peer, e)),
            }
        });
        Deadline::new(located, limit, self.timer(), move || {
            Error::timed_out(Phase::Locating, peer.clone(), limit)
        })
    }

    fn dial_proxy(&self, way: &ProxyChain) -> impl Future<Item = Socket, Error = Error> {
        let (address, resolver) = (&way.spec().address, &self.settings().resolver);
        self.dial(way.peer(), address, way.family(), resolver)
    }

    fn open_directly(
        &self,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
        let destination = &tunnel.destination().address;
        let family = tunnel.family();
        self.dial(
            Peer::Destination(destination.clone()),
            destination,
            family,
            self.settings().resolver_for(tunnel),
        )
        .map(bare)
    }

    pub(super) fn dial(
        &self,
        peer: Peer,
        address: &HostPort,
        family: Family,
        resolver: &Resolver,
    ) -> impl Future<Item = Socket, Error = Error> {
        debug!("{}: connecting", peer);
        let timeouts = &self.settings().timeouts;
        let (limit, keepalive) = (timeouts.connect, timeouts.tcp_keepalive);
        let dial = Dial::new(
            peer.clone(),
            address,
            family,
            resolver,
            keepalive,
            self.handle(),
        );
        Deadline::new(dial, limit, self.timer(), move || {
            Error::timed_out(Phase::Connecting, peer.clone(), limit)
        })
    }
}

/// A future that is boxed: part of itself, or rare.
pub type BoxFuture<T> = Box<dyn Future<Item = T, Error = Error>>;

fn bare(socket: Socket) -> Rewind<Upstream> {
    Rewind::new(Upstream::Bare(socket), Vec::new())
}

/// What is rare, so that it takes no room in every tunnel.
pub(super) fn boxed<T>(rare: impl Future<Item = T, Error = Error> + 'static) -> BoxFuture<T> {
    Box::new(rare)
}

/// The opening of a way, for as long as its client is there.
///
/// Resolves to the client and what `open` resolves to; to the client's error alone, such as a
/// reset, when that comes first: a proxy that hangs must not hold resources that no client waits for. Nothing
/// is read from the client, and its mere end (FIN) ends nothing: who has said all waits for the
/// answer. Both are dropped with the future.
#[must_use = "futures do nothing unless polled"]
pub struct AbortOnReset<C, T> {
    client: Option<C>,
    scope: LogScope,
    /// Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
    open: BoxFuture<T>,
}

impl<C: Transport, T> AbortOnReset<C, T> {
    /// Begins what `open` makes, and goes on while `client` is there, in the scope of its connection.
    pub fn new<F>(client: C, context: &LogContext, open: impl FnOnce() -> F) -> AbortOnReset<C, T>
    where
        F: Future<Item = T, Error = Error> + 'static,
    {
        let mut scope = LogScope::of(context);
        AbortOnReset {
            client: Some(client),
            open: Box::new(scope.enter(open)),
            scope,
        }
    }
}

impl<C: Transport, T> Future for AbortOnReset<C, T> {
    type Item = Result<(C, T), io::Error>;
    type Error = Error;

    fn poll(&mut self) -> Poll<Self::Item, Error> {
        let AbortOnReset { scope, open, .. } = self;
        let opened = scope.enter(|| open.poll())?;
        let mut client = self.client.take().expect("Opening polled after it ended");
        if let Async::Ready(opened) = opened {
            return Ok(Async::Ready(Ok((client, opened))));
        }
        match client.check() {
            Ok(()) => {
                self.client = Some(client);
                Ok(Async::NotReady)
            }
            Err(e) => Ok(Async::Ready(Err(e))),
        }
    }
}
