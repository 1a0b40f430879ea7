//! Tries one path after the other until one reaches the destination, and reports each step to an
//! observer. The engines do the same with futures.

use std::fmt;
use std::io::{self, Cursor, ErrorKind};
use std::time::Instant;

use super::dial::{race, resolve};
use super::{Observer, TestStep};
use crate::config::{Destination, Family, Host, HostPort, Protocol, ProxySpec};
use crate::config::{Timeouts, TlsSpec};
use crate::error::{Error, Peer, Phase};
use crate::observe::status::deadline_stream::{DeadlineStream, Prefixed, Stream};
use crate::proto::{self, AuthMethod, Negotiation};
use crate::text::escape::shown;
use crate::upstream::{Candidates, Failover, Hop, ProxyChain, Tunnel, UpstreamPath};

/// Bytes per read; most replies fit into one.
const CHUNK: usize = 2 * 1024;

/// An open path to a destination.
pub(crate) struct OpenedPath {
    /// The stream to the destination.
    pub(crate) stream: Box<dyn Stream>,
    /// The destination's first bytes, if they came with the proxy's reply.
    pub(crate) early: Vec<u8>,
    /// The path that was taken.
    pub(crate) path: UpstreamPath,
}

/// Opens paths, for an observer.
pub(crate) struct Probe<'a> {
    timeouts: &'a Timeouts,
    observer: &'a mut dyn Observer,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(timeouts: &'a Timeouts, observer: &'a mut dyn Observer) -> Probe<'a> {
        Probe { timeouts, observer }
    }

    /// Opens a path to the tunnel's destination, as for a client. Doesn't change the health of a proxy.
    ///
    /// # Errors
    ///
    /// A refusal that is final, or the error of the last path.
    pub(crate) fn open(&mut self, tunnel: &Tunnel) -> Result<OpenedPath, Error> {
        let mut failover = self.failover(tunnel)?;
        while let Some(path) = failover.next() {
            self.observer.path_started(&path);
            match self.open_path(&path, tunnel) {
                Ok((stream, early)) => {
                    return Ok(OpenedPath {
                        stream,
                        early,
                        path,
                    })
                }
                Err(e) if path.is_final(&e) => return Err(e),
                Err(e) => {
                    self.observer.path_failed(&e);
                    failover = failover.keeping(e);
                }
            }
        }
        Err(failover.give_up())
    }

    /// Returns the paths to try, after evaluating a PAC file if there is one.
    fn failover(&mut self, tunnel: &Tunnel) -> Result<Failover, Error> {
        let selector = tunnel.selector().for_observer();
        let query = match selector.candidates(&tunnel.destination().address) {
            Candidates::Known(failover) => return Ok(failover),
            Candidates::Pac(query) => query,
        };
        self.observer.step_started(TestStep::Pac);
        let limit = query.limit(self.timeouts);
        let said = query.ask(limit)?;
        let failover = query.failover(&said)?;
        let said = match said.trim() {
            "" => "nothing, which means DIRECT".to_string(),
            said => shown(said),
        };
        self.observer
            .step_done(&format_args!("{} says {}", query.file(), said));
        Ok(failover)
    }

    fn open_path(&mut self, path: &UpstreamPath, tunnel: &Tunnel) -> Reached {
        let Destination { address, tls } = tunnel.destination();
        let reached = match path.proxy() {
            Some(chain) => self.reach(chain, chain.hop_count(), address)?,
            None => (self.dial_directly(tunnel)?, Vec::new()),
        };
        if tls.is_none() {
            return Ok(reached);
        }
        let mut transport = prefixed(reached);
        transport.limit(self.timeouts.handshake);
        let stream = self.secure(transport, Peer::Destination(address.clone()), tls)?;
        Ok((stream, Vec::new()))
    }

    /// Connects through the first `hops` proxies of the chain, to the next one or the destination; 0
    /// dials the first proxy.
    fn reach(&mut self, chain: &ProxyChain, hops: usize, destination: &HostPort) -> Reached {
        let last = match hops.checked_sub(1) {
            Some(last) => last,
            None => return self.dial_proxy(chain).map(|stream| (stream, Vec::new())),
        };
        let hop = self.locate(chain.hop(last, destination))?;
        let reached = self.reach(chain, last, destination)?;
        self.connect(reached, &hop, |probe| probe.reach(chain, last, destination))
    }

    /// Resolves the target, where the proxy's protocol needs an address.
    fn locate(&mut self, hop: Hop) -> Result<Hop, Error> {
        let target = match hop.target_to_locate() {
            Some(target) => target.clone(),
            None => return Ok(hop),
        };
        let limit = self.timeouts.connect;
        self.observer.step_started(TestStep::Name);
        let found = resolve(&target, hop.family(), Instant::now() + limit)
            .map_err(|e| Error::locate(hop.target_peer(), e))?
            .ok_or_else(|| Error::timed_out(Phase::Locating, hop.target_peer(), limit))?;
        let hop = hop.at(&found)?;
        if let Host::Ip(ip) = &hop.requested().host {
            self.observer
                .step_done(&format_args!("{} is {}", target.host, ip));
        }
        Ok(hop)
    }

    fn dial_directly(&mut self, tunnel: &Tunnel) -> Result<Box<dyn Stream>, Error> {
        let destination = &tunnel.destination().address;
        let peer = Peer::Destination(destination.clone());
        self.dial(peer, destination, tunnel.selector().route().family)
    }

    fn dial_proxy(&mut self, chain: &ProxyChain) -> Result<Box<dyn Stream>, Error> {
        let address = &chain.spec().address;
        self.dial(chain.peer(), address, chain.family())
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
        self.observer.step_started(TestStep::Name);
        let found = resolve(address, family, until)
            .map_err(|e| Error::resolve(peer.clone(), e))?
            .ok_or_else(late)?;
        match &address.host {
            Host::Ip(_) => self.observer.step_done(&"none to look up"),
            Host::Name(name) => {
                let ips = List(found.iter().map(|address| address.ip()).collect());
                self.observer
                    .step_done(&format_args!("{} is {}", name, ips));
            }
        }
        self.observer.step_started(TestStep::Connection);
        let socket = race(&found, until)
            .map_err(|e| Error::connect(peer.clone(), e))?
            .ok_or_else(late)?;
        match (socket.peer_addr(), socket.local_addr()) {
            (Ok(to), Ok(from)) => self
                .observer
                .step_done(&format_args!("{} from {}", to, from)),
            // The connection was reset already; the next step fails.
            _ => self.observer.step_done(&"made"),
        }
        Ok(Box::new(DeadlineStream::new(socket)))
    }

    /// Requests the target of a hop from its proxy, over `reached`, and over further connections, opened
    /// by `reopen`, when authentication needs them.
    fn connect(
        &mut self,
        mut reached: (Box<dyn Stream>, Vec<u8>),
        hop: &Hop,
        reopen: impl Fn(&mut Probe<'a>) -> Reached,
    ) -> Reached {
        let mut exchange = hop.negotiation();
        let mut step = match hop.spec().protocol {
            Protocol::Http => TestStep::Connect,
            Protocol::Socks5(_) => TestStep::Socks5,
            Protocol::Socks4(_) => TestStep::Socks4,
        };
        let mut proof = None;
        let until = Instant::now() + self.timeouts.handshake;
        loop {
            if hop.is_of_chain() {
                self.observer.hop_started(hop);
            }
            let mut transport = prefixed(reached);
            transport.limit(until.saturating_duration_since(Instant::now()));
            let mut stream = self.secure(transport, hop.peer(), &hop.spec().tls)?;
            let mut request = exchange.begin();
            self.observer.step_started(step);
            loop {
                proof = exchange.auth_method().or(proof);
                let answer = self.exchange(&mut *stream, &mut exchange, &request);
                match answer.map_err(|failure| self.failed(failure, hop))? {
                    HopReply::Granted(early) => {
                        self.report_granted(step, proof, hop.spec());
                        return Ok((stream, early));
                    }
                    HopReply::Send(next) => {
                        if let Some(proof) = exchange.auth_method() {
                            self.observer.step_done(&AuthRequested(proof));
                            step = TestStep::Authentication;
                            self.observer.step_started(step);
                        }
                        request = next;
                    }
                    HopReply::Redial => {
                        match exchange.auth_method() {
                            Some(proof) => self.observer.step_done(&format_args!(
                                "{}, on a new connection",
                                AuthRequested(proof)
                            )),
                            None => self.observer.step_done(&"it wants a new connection"),
                        }
                        break;
                    }
                }
            }
            step = TestStep::Authentication;
            reached = reopen(self).map_err(|e| Error::redial(hop.peer(), e))?;
        }
    }

    /// Sends a request and reads its reply.
    fn exchange(
        &mut self,
        stream: &mut dyn Stream,
        exchange: &mut Negotiation,
        request: &[u8],
    ) -> Result<HopReply, HopError> {
        let lost = |exchange: &Negotiation, failure| {
            if exchange.may_redial() {
                Ok(HopReply::Redial)
            } else {
                Err(failure)
            }
        };
        if let Err(e) = stream.write_all(request) {
            return lost(exchange, HopError::Io(e));
        }
        let mut chunk = [0; CHUNK];
        loop {
            let count = match stream.read(&mut chunk) {
                Ok(0) => return lost(exchange, HopError::Ended),
                Ok(count) => count,
                Err(e) => return lost(exchange, HopError::Io(e)),
            };
            return match exchange.feed(&chunk[..count]) {
                Ok(proto::NegotiationStep::Read) => continue,
                Ok(proto::NegotiationStep::Send(next)) => Ok(HopReply::Send(next)),
                Ok(proto::NegotiationStep::Redial) => Ok(HopReply::Redial),
                Ok(proto::NegotiationStep::Granted(early)) => Ok(HopReply::Granted(early)),
                Ok(proto::NegotiationStep::Refused(refusal)) => Err(HopError::Refused(refusal)),
                Err(why) => Err(HopError::Malformed(why)),
            };
        }
    }

    fn failed(&self, failure: HopError, hop: &Hop) -> Error {
        let peer = hop.peer();
        match failure {
            HopError::Io(ref e) if e.kind() == ErrorKind::TimedOut => {
                Error::timed_out(Phase::Handshaking, peer, self.timeouts.handshake)
            }
            HopError::Io(e) => Error::exchange(peer, e),
            HopError::Ended => Error::ended(peer),
            HopError::Malformed(why) => Error::malformed(peer, why),
            HopError::Refused(refusal) => Error::refused(peer, hop.target().clone(), *refusal),
        }
    }

    /// Reports the grant, and whether credentials were requested, sent at once, or not needed.
    fn report_granted(&mut self, step: TestStep, proof: Option<AuthMethod>, proxy: &ProxySpec) {
        let user = proxy.credentials.as_ref().map(|known| known.user());
        let user = user.unwrap_or_default();
        match (step, proof) {
            (TestStep::Authentication, Some(proof)) => self
                .observer
                .step_done(&format_args!("granted to {}, in {}", user, proof)),
            (_, Some(proof)) => {
                self.observer.step_done(&"granted");
                self.observer.step_started(TestStep::Authentication);
                self.observer
                    .step_done(&format_args!("{} went along, in {}", user, proof));
            }
            (_, None) => {
                self.observer.step_done(&"granted");
                self.observer.step_started(TestStep::Authentication);
                self.observer.step_done(&"not asked for");
            }
        }
    }

    #[cfg(feature = "tls")]
    fn secure(
        &mut self,
        transport: Box<dyn Stream>,
        peer: Peer,
        tls: &Option<TlsSpec>,
    ) -> Result<Box<dyn Stream>, Error> {
        use crate::observe::status::deadline_stream::tls::BlockingTls;
        use crate::upstream::tls::TlsSetup;

        let host = &peer.address().host;
        let spec = match tls {
            Some(spec) => spec,
            None => return Ok(transport),
        };
        self.observer.step_started(TestStep::Tls);
        let tls_stream = TlsSetup::new(spec, peer.address()).and_then(|session| {
            let report = session.report.clone();
            Ok((BlockingTls::new(session, transport)?, report))
        });
        match tls_stream {
            Ok((stream, report)) => {
                match report.warning() {
                    Some(warning) => {
                        self.observer
                            .step_done(&format_args!("{}; {}", stream.terms(), warning))
                    }
                    None => {
                        self.observer
                            .step_done(&format_args!("{}, it is {}", stream.terms(), host))
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
        transport: Box<dyn Stream>,
        _: Peer,
        tls: &Option<TlsSpec>,
    ) -> Result<Box<dyn Stream>, Error> {
        match tls {
            Some(spec) => match *spec {},
            None => Ok(transport),
        }
    }
}

/// The proxy's reply to a request.
enum HopReply {
    Granted(Vec<u8>),
    /// Bytes to send next, on the same connection.
    Send(Vec<u8>),
    /// The request must be repeated on another connection.
    Redial,
}

enum HopError {
    Io(io::Error),
    Ended,
    Malformed(proto::Malformed),
    Refused(Box<proto::Refusal>),
}

/// Displays that the proxy requested authentication.
struct AuthRequested(AuthMethod);

impl fmt::Display for AuthRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it asks who we are, and is answered in {}", self.0)
    }
}

/// A stream to a hop, with bytes that were read from it too early.
type Reached = Result<(Box<dyn Stream>, Vec<u8>), Error>;

fn prefixed((stream, early): (Box<dyn Stream>, Vec<u8>)) -> Box<dyn Stream> {
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
