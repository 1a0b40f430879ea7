//! One client from its arrival to its end, as a chain; each link is a future of its own file.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::{self, Either, Loop};
use futures::Future;
use log::{debug, info, warn};

use super::connect::Connect;
use super::dial::Dial;
use super::gateway::{Candidate, Gateway};
use super::limits::Deadline;
use super::relay::{Cut, Relay, Traffic};
use super::{Engine, Tunnel};
use crate::config::{Family, HostPort};
use crate::error::{Error, Peer, Phase, Seconds};
use crate::net::{Rewind, Socket, Transport};

/// A way to the destination, opened for one client.
pub struct Opened {
    /// Carries the destination's bytes, first those that came with the proxy's reply.
    pub stream: Rewind<Socket>,
    /// Which way it is.
    pub via: Via,
}

/// Which way a tunnel goes; displays as `through 10.0.0.1:3128` or `directly`.
#[derive(Clone, Debug)]
pub struct Via(Option<Candidate>);

impl Via {
    pub(super) const DIRECTLY: Via = Via(None);
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(candidate) => write!(f, "through {}", candidate.spec()),
            None => f.write_str("directly"),
        }
    }
}

/// Where a client comes from, as logs call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Over the network.
    Address(SocketAddr),
    /// Our own standard input and output.
    Stdio,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Address(address) => address.fmt(f),
            Origin::Stdio => f.write_str("stdio"),
        }
    }
}

impl Engine {
    /// Serves one client: opens a way, carries its bytes, logs its end.
    ///
    /// The client belongs to the future, which closes it at its end and resets it when it can't
    /// be served to its end or is dropped early. An error is one of opening: no byte was taken
    /// from the client.
    pub fn carry(
        &self,
        client: Socket,
        origin: Origin,
        tunnel: &Tunnel,
    ) -> impl Future<Item = Carried, Error = Error> {
        let engine = self.clone();
        let destination = tunnel.destination().clone();
        let start = Instant::now();
        // Boxed: an idle tunnel shall not weigh what opening it took.
        let open: Box<dyn Future<Item = Opened, Error = Error>> = Box::new(self.open(tunnel));
        open.and_then(move |opened| {
            debug!("{} to {}: open {}", origin, destination, opened.via);
            let relay = engine.relay(client, opened.stream);
            let line = Line {
                origin,
                destination,
                via: opened.via,
                start,
            };
            line.log(relay)
        })
    }

    /// Opens a way to the tunnel's destination: through the first proxy of its gateway that can
    /// be used, or directly where NO_PROXY says so.
    ///
    /// Resolves to a connected stream, which belongs to the caller; dropping the future closes
    /// whatever it had opened so far.
    pub fn open(&self, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
        let gateway = tunnel.gateway();
        if gateway.route().is_direct(tunnel.destination()) {
            return Either::A(self.open_directly(tunnel));
        }
        let engine = self.clone();
        let tunnel = tunnel.clone();
        Either::B(self.open_through_any(&tunnel).or_else(move |error| {
            if tunnel.gateway().route().direct_fallback && error.is_unreachable() {
                warn!("{}; connecting to {} directly", error, tunnel.destination());
                Either::A(engine.open_directly(&tunnel))
            } else {
                Either::B(future::err(error))
            }
        }))
    }

    /// Asks one proxy after the other until one answers, be it with a refusal.
    fn open_through_any(&self, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
        let engine = self.clone();
        let tunnel = tunnel.clone();
        let attempts = Attempts::new(tunnel.gateway());
        future::loop_fn(attempts, move |mut attempts| {
            let candidate = match attempts.left.next() {
                Some(candidate) => candidate,
                None => return Either::A(future::err(attempts.give_up())),
            };
            let attempt = engine.open_through(&candidate, tunnel.destination());
            Either::B(attempt.then(move |answer| match answer {
                Ok(opened) => {
                    candidate.trust();
                    Ok(Loop::Break(opened))
                }
                Err(error) if error.is_refusal() => {
                    candidate.trust();
                    Err(error)
                }
                Err(error) => {
                    candidate.avoid();
                    Ok(Loop::Continue(attempts.failed(error)))
                }
            }))
        })
    }

    /// Dials one proxy and asks it for the destination.
    fn open_through(
        &self,
        candidate: &Candidate,
        destination: &HostPort,
    ) -> impl Future<Item = Opened, Error = Error> {
        let engine = self.clone();
        let candidate = candidate.clone();
        let destination = destination.clone();
        let address = &candidate.spec().address;
        self.dial(candidate.peer(), address, candidate.family())
            .and_then(move |socket| {
                debug!(
                    "{}: connected, asking for {}",
                    candidate.peer(),
                    destination
                );
                let request = candidate.request(&destination);
                let (limit, peer) = (engine.settings().timeouts.handshake, candidate.peer());
                let connect = Connect::new(socket, &request).map_err({
                    let peer = peer.clone();
                    move |failure| failure.at(peer, destination)
                });
                Deadline::new(connect, limit, engine.handle(), move || {
                    Error::timed_out(Phase::Handshaking, peer.clone(), limit)
                })
                .map(move |stream| Opened {
                    stream,
                    via: Via(Some(candidate)),
                })
            })
    }

    fn open_directly(&self, tunnel: &Tunnel) -> impl Future<Item = Opened, Error = Error> {
        let destination = tunnel.destination();
        let family = tunnel.gateway().route().family;
        self.dial(Peer::Destination(destination.clone()), destination, family)
            .map(|socket| Opened {
                stream: Rewind::new(socket, Vec::new()),
                via: Via::DIRECTLY,
            })
    }

    pub(super) fn dial(
        &self,
        peer: Peer,
        address: &HostPort,
        family: Family,
    ) -> impl Future<Item = Socket, Error = Error> {
        debug!("{}: connecting", peer);
        let limit = self.settings().timeouts.connect;
        let resolver = &self.settings().resolver;
        let dial = Dial::new(peer.clone(), address, family, resolver, self.handle());
        Deadline::new(dial, limit, self.handle(), move || {
            Error::timed_out(Phase::Connecting, peer.clone(), limit)
        })
    }
}

/// The proxies not asked yet, and how those that were asked failed.
struct Attempts {
    left: std::vec::IntoIter<Candidate>,
    last: Option<Error>,
}

impl Attempts {
    fn new(gateway: &Gateway) -> Attempts {
        Attempts {
            left: gateway.order().into_iter(),
            last: None,
        }
    }

    /// Keeps the error that tells most: a proxy that was reached says more than one that wasn't,
    /// and rules out a direct connection.
    fn failed(mut self, error: Error) -> Attempts {
        if self.left.len() > 0 {
            warn!("{}; trying the next proxy", error);
        }
        let keep = match &self.last {
            Some(last) => last.is_unreachable() || !error.is_unreachable(),
            None => true,
        };
        if keep {
            self.last = Some(error);
        }
        self
    }

    fn give_up(self) -> Error {
        self.last.expect("a route without proxies is direct")
    }
}

/// What the log says of a relay, once it has ended.
pub(super) struct Line {
    pub(super) origin: Origin,
    pub(super) destination: HostPort,
    pub(super) via: Via,
    pub(super) start: Instant,
}

impl Line {
    /// Resolves when `relay` does, and logs how it went.
    pub(super) fn log<C, U>(self, relay: Relay<C, U>) -> impl Future<Item = Carried, Error = Error>
    where
        C: Transport,
        U: Transport,
    {
        relay.then(move |end| {
            let carried = Carried {
                end,
                lasted: self.start.elapsed(),
            };
            info!(
                "{} to {} {}: {}",
                self.origin, self.destination, self.via, carried
            );
            Ok(carried)
        })
    }
}

/// How a relay went; displays as its line in the log ends.
#[derive(Debug)]
pub struct Carried {
    /// What was carried to both ends, or what was and why it went no further.
    pub end: Result<Traffic, Cut>,
    /// Since the client came.
    pub lasted: Duration,
}

impl Carried {
    /// The bytes that were carried, whatever the end.
    pub fn traffic(&self) -> Traffic {
        match &self.end {
            Ok(traffic) => *traffic,
            Err(cut) => cut.traffic,
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Traffic { upload, download } = self.traffic();
        let lasted = Duration::from_millis(self.lasted.as_millis() as u64);
        write!(
            f,
            "{} bytes up, {} down in {}, ",
            upload,
            download,
            Seconds(lasted)
        )?;
        match &self.end {
            Ok(_) => f.write_str("closed by both sides"),
            Err(cut) => write!(f, "cut: {}", cut),
        }
    }
}
