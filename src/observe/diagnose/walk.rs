//! One way after the other, until one leads to the destination: what the engines do with futures,
//! told to a witness.

use std::fmt;
use std::io::{self, Cursor, ErrorKind};
use std::time::Instant;

use super::dial::{race, resolve};
use super::stream::{DeadlineStream, Prefixed, Stream};
use super::{Observer, Step};
use crate::config::{Destination, Family, Host, HostPort, Protocol, ProxySpec};
use crate::config::{Timeouts, TlsSpec};
use crate::error::{Error, Peer, Phase};
use crate::proto::{self, AuthMethod, Negotiation};
use crate::text::escape::shown;
use crate::upstream::{Candidates, Failover, Hop, ProxyChain, Tunnel, UpstreamPath};

/// What one read asks for: most replies come in one.
const CHUNK: usize = 2 * 1024;

/// A way to a destination.
pub(crate) struct Opened {
    /// As good as connected to it.
    pub(crate) stream: Box<dyn Stream>,
    /// The destination's first bytes, when they came with the proxy's reply.
    pub(crate) early: Vec<u8>,
    /// Which way it is.
    pub(crate) via: UpstreamPath,
}

/// Opens ways, and says what it does.
pub(crate) struct Probe<'a> {
    timeouts: &'a Timeouts,
    witness: &'a mut dyn Observer,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(timeouts: &'a Timeouts, witness: &'a mut dyn Observer) -> Probe<'a> {
        Probe { timeouts, witness }
    }

    /// Opens a way to the tunnel's destination, as a client of it would get one. What is learnt of
    /// a proxy stays here: no tunnel avoids one, or trusts one, for it.
    ///
    /// # Errors
    ///
    /// A proxy's refusal, or why none could be asked.
    pub(crate) fn open(&mut self, tunnel: &Tunnel) -> Result<Opened, Error> {
        let mut attempts = self.attempts(tunnel)?;
        while let Some(via) = attempts.next() {
            self.witness.sets_out(&via);
            match self.open_by(&via, tunnel) {
                Ok((stream, early)) => return Ok(Opened { stream, early, via }),
                Err(e) if via.is_final(&e) => return Err(e),
                Err(e) => {
                    self.witness.gives_up(&e);
                    attempts = attempts.keeping(e);
                }
            }
        }
        Err(attempts.give_up())
    }

    /// The ways to try, for which a PAC file may have to be asked.
    fn attempts(&mut self, tunnel: &Tunnel) -> Result<Failover, Error> {
        let gateway = tunnel.selector().for_observer();
        let question = match gateway.candidates(&tunnel.destination().address) {
            Candidates::Known(attempts) => return Ok(attempts),
            Candidates::Asked(question) => question,
        };
        self.witness.begins(Step::Pac);
        let limit = question.limit(self.timeouts);
        let said = question.ask(limit)?;
        let attempts = question.failover(&said)?;
        let said = match said.trim() {
            "" => "nothing, which means DIRECT".to_string(),
            said => shown(said),
        };
        self.witness
            .is_done(&format_args!("{} says {}", question.file(), said));
        Ok(attempts)
    }

    fn open_by(&mut self, via: &UpstreamPath, tunnel: &Tunnel) -> Reached {
        let Destination { address, tls } = tunnel.destination();
        let reached = match via.proxy() {
            Some(way) => self.reach(way, way.hop_count(), address)?,
            None => (self.dial_directly(tunnel)?, Vec::new()),
        };
        if tls.is_none() {
            return Ok(reached);
        }
        let mut bare = fronted(reached);
        bare.limit(self.timeouts.handshake);
        let stream = self.secure(bare, Peer::Destination(address.clone()), tls)?;
        Ok((stream, Vec::new()))
    }

    /// Goes through so many proxies of a way, to the next one or the destination: without any, that
    /// is the first proxy.
    fn reach(&mut self, way: &ProxyChain, hops: usize, destination: &HostPort) -> Reached {
        let last = match hops.checked_sub(1) {
            Some(last) => last,
            None => return self.dial_proxy(way).map(|stream| (stream, Vec::new())),
        };
        let hop = self.locate(way.hop(last, destination))?;
        let reached = self.reach(way, last, destination)?;
        self.ask(reached, &hop, |walk| walk.reach(way, last, destination))
    }

    /// Looks the target up, where the proxy shall be asked for an address.
    fn locate(&mut self, hop: Hop) -> Result<Hop, Error> {
        let target = match hop.target_to_locate() {
            Some(target) => target.clone(),
            None => return Ok(hop),
        };
        let limit = self.timeouts.connect;
        self.witness.begins(Step::Name);
        let found = resolve(&target, hop.family(), Instant::now() + limit)
            .map_err(|e| Error::locate(hop.target_peer(), e))?
            .ok_or_else(|| Error::timed_out(Phase::Locating, hop.target_peer(), limit))?;
        let hop = hop.at(&found)?;
        if let Host::Ip(ip) = &hop.asked().host {
            self.witness
                .is_done(&format_args!("{} is {}", target.host, ip));
        }
        Ok(hop)
    }

    fn dial_directly(&mut self, tunnel: &Tunnel) -> Result<Box<dyn Stream>, Error> {
        let destination = &tunnel.destination().address;
        let peer = Peer::Destination(destination.clone());
        self.dial(peer, destination, tunnel.selector().route().family)
    }

    fn dial_proxy(&mut self, candidate: &ProxyChain) -> Result<Box<dyn Stream>, Error> {
        let address = &candidate.spec().address;
        self.dial(candidate.peer(), address, candidate.family())
    }

    fn dial(
        &mut self,
        peer: Peer,
        address: &HostPort,
        family: Family,
    ) -> Result<Box<dyn Stream>, Error> {
        let limit = self.timeouts.connect;
        let until = Instant::now() + limit;
        let late = || Error::timed_out(Phase::Connecting, peer.clone(), limit);
        self.witness.begins(Step::Name);
        let found = resolve(address, family, until)
            .map_err(|e| Error::resolve(peer.clone(), e))?
            .ok_or_else(late)?;
        match &address.host {
            Host::Ip(_) => self.witness.is_done(&"none to look up"),
            Host::Name(name) => {
                let ips = List(found.iter().map(|address| address.ip()).collect());
                self.witness.is_done(&format_args!("{} is {}", name, ips));
            }
        }
        self.witness.begins(Step::Connection);
        let socket = race(&found, until)
            .map_err(|e| Error::connect(peer.clone(), e))?
            .ok_or_else(late)?;
        match (socket.peer_addr(), socket.local_addr()) {
            (Ok(to), Ok(from)) => self.witness.is_done(&format_args!("{} from {}", to, from)),
            // It has been reset already, which the next step tells.
            _ => self.witness.is_done(&"made"),
        }
        Ok(Box::new(DeadlineStream::new(socket)))
    }

    /// Asks one proxy for its target, over the stream that has come to it and on as many more
    /// connections as it wants for that, which `reach_it` opens.
    fn ask(
        &mut self,
        mut reached: (Box<dyn Stream>, Vec<u8>),
        hop: &Hop,
        reach_it: impl Fn(&mut Probe<'a>) -> Reached,
    ) -> Reached {
        let mut exchange = hop.negotiation();
        let mut step = match hop.spec().protocol {
            Protocol::Http => Step::Connect,
            Protocol::Socks5(_) => Step::Socks5,
            Protocol::Socks4(_) => Step::Socks4,
        };
        let mut proof = None;
        let until = Instant::now() + self.timeouts.handshake;
        loop {
            if hop.is_of_chain() {
                self.witness.turns_to(hop);
            }
            let mut bare = fronted(reached);
            bare.limit(until.saturating_duration_since(Instant::now()));
            let mut stream = self.secure(bare, hop.peer(), &hop.spec().tls)?;
            let mut request = exchange.begin();
            self.witness.begins(step);
            loop {
                proof = exchange.proof().or(proof);
                let answer = self.exchange(&mut *stream, &mut exchange, &request);
                match answer.map_err(|failure| self.failed(failure, hop))? {
                    Answer::Granted(early) => {
                        self.tell_granted(step, proof, hop.spec());
                        return Ok((stream, early));
                    }
                    Answer::Asked(next) => {
                        if let Some(proof) = exchange.proof() {
                            self.witness.is_done(&Asked(proof));
                            step = Step::Authentication;
                            self.witness.begins(step);
                        }
                        request = next;
                    }
                    Answer::Left => {
                        match exchange.proof() {
                            Some(proof) => self
                                .witness
                                .is_done(&format_args!("{}, on a new connection", Asked(proof))),
                            None => self.witness.is_done(&"it wants a new connection"),
                        }
                        break;
                    }
                }
            }
            step = Step::Authentication;
            reached = reach_it(self).map_err(|e| Error::redial(hop.peer(), e))?;
        }
    }

    /// One request and its reply.
    fn exchange(
        &mut self,
        stream: &mut dyn Stream,
        exchange: &mut Negotiation,
        request: &[u8],
    ) -> Result<Answer, Failure> {
        let lost = |exchange: &Negotiation, failure| {
            if exchange.may_redial() {
                Ok(Answer::Left)
            } else {
                Err(failure)
            }
        };
        if let Err(e) = stream.write_all(request) {
            return lost(exchange, Failure::Io(e));
        }
        let mut chunk = [0; CHUNK];
        loop {
            let count = match stream.read(&mut chunk) {
                Ok(0) => return lost(exchange, Failure::Ended),
                Ok(count) => count,
                Err(e) => return lost(exchange, Failure::Io(e)),
            };
            return match exchange.feed(&chunk[..count]) {
                Ok(proto::Step::Read) => continue,
                Ok(proto::Step::Send(next)) => Ok(Answer::Asked(next)),
                Ok(proto::Step::Redial) => Ok(Answer::Left),
                Ok(proto::Step::Granted(early)) => Ok(Answer::Granted(early)),
                Ok(proto::Step::Refused(refusal)) => Err(Failure::Refused(refusal)),
                Err(why) => Err(Failure::Malformed(why)),
            };
        }
    }

    fn failed(&self, failure: Failure, hop: &Hop) -> Error {
        let peer = hop.peer();
        match failure {
            Failure::Io(ref e) if e.kind() == ErrorKind::TimedOut => {
                Error::timed_out(Phase::Handshaking, peer, self.timeouts.handshake)
            }
            Failure::Io(e) => Error::exchange(peer, e),
            Failure::Ended => Error::ended(peer),
            Failure::Malformed(why) => Error::malformed(peer, why),
            Failure::Refused(refusal) => Error::refused(peer, hop.target().clone(), *refusal),
        }
    }

    /// Who we are was asked for and answered, went along unasked, or wasn't of interest.
    fn tell_granted(&mut self, step: Step, proof: Option<AuthMethod>, proxy: &ProxySpec) {
        let user = proxy.credentials.as_ref().map(|known| known.user());
        let user = user.unwrap_or_default();
        match (step, proof) {
            (Step::Authentication, Some(proof)) => self
                .witness
                .is_done(&format_args!("granted to {}, in {}", user, proof)),
            (_, Some(proof)) => {
                self.witness.is_done(&"granted");
                self.witness.begins(Step::Authentication);
                self.witness
                    .is_done(&format_args!("{} went along, in {}", user, proof));
            }
            (_, None) => {
                self.witness.is_done(&"granted");
                self.witness.begins(Step::Authentication);
                self.witness.is_done(&"not asked for");
            }
        }
    }

    #[cfg(feature = "tls")]
    fn secure(
        &mut self,
        bare: Box<dyn Stream>,
        peer: Peer,
        tls: &Option<TlsSpec>,
    ) -> Result<Box<dyn Stream>, Error> {
        use super::stream::tls::Secured;
        use crate::upstream::tls::TlsSetup;

        let host = &peer.address().host;
        let spec = match tls {
            Some(spec) => spec,
            None => return Ok(bare),
        };
        self.witness.begins(Step::Tls);
        let secured = TlsSetup::new(spec, peer.address()).and_then(|session| {
            let doubt = session.doubt.clone();
            Ok((Secured::new(session, bare)?, doubt))
        });
        match secured {
            Ok((stream, doubt)) => {
                match doubt.warning() {
                    Some(warning) => {
                        self.witness
                            .is_done(&format_args!("{}; {}", stream.terms(), warning))
                    }
                    None => {
                        self.witness
                            .is_done(&format_args!("{}, it is {}", stream.terms(), host))
                    }
                }
                Ok(Box::new(stream))
            }
            Err(ref e) if e.kind() == ErrorKind::TimedOut => {
                let limit = self.timeouts.handshake;
                Err(Error::timed_out(Phase::Handshaking, peer, limit))
            }
            Err(e) => Err(Error::secure(peer, e)),
        }
    }

    #[cfg(not(feature = "tls"))]
    fn secure(
        &mut self,
        bare: Box<dyn Stream>,
        _: Peer,
        tls: &Option<TlsSpec>,
    ) -> Result<Box<dyn Stream>, Error> {
        match tls {
            Some(spec) => match *spec {},
            None => Ok(bare),
        }
    }
}

/// What came of a request.
enum Answer {
    Granted(Vec<u8>),
    /// This goes next, on the same connection.
    Asked(Vec<u8>),
    /// It is asked again on another one.
    Left,
}

enum Failure {
    Io(io::Error),
    Ended,
    Malformed(proto::Malformed),
    Refused(Box<proto::Refusal>),
}

/// A proxy that wants to know who we are, and is about to be answered.
struct Asked(AuthMethod);

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it asks who we are, and is answered in {}", self.0)
    }
}

/// As far as a way has come, with what was read there too early.
type Reached = Result<(Box<dyn Stream>, Vec<u8>), Error>;

fn fronted((stream, early): (Box<dyn Stream>, Vec<u8>)) -> Box<dyn Stream> {
    if early.is_empty() {
        return stream;
    }
    let front = Cursor::new(early);
    Box::new(Prefixed { front, stream })
}

struct List<T>(Vec<T>);

impl<T: fmt::Display> fmt::Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, item) in self.0.iter().enumerate() {
            write!(f, "{}{}", if place == 0 { "" } else { ", " }, item)?;
        }
        Ok(())
    }
}
