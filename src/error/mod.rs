//! What can go wrong, told in one line: what was tried, with whom, and why it failed.
//!
//! An [`Error`] is opaque: ask it ([`is_refusal`](Error::is_refusal) and the like), print it,
//! or take the exit code that belongs to it. Texts are lower case without a full stop, and
//! never hold a secret; what came from the network is escaped before it gets here.

use std::error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::config::{HostPort, ParseError};
use crate::observe::logging::field::{FieldValue, Fields, TunnelPath};
use crate::os::exhaustion::Exhaustion;
use crate::proto::{Hint, Malformed, Refusal};

/// Anything that ends a tunnel before it stands, or the program before it serves.
#[derive(Debug)]
pub struct Error {
    /// Boxed, so that futures stay small: errors are rare.
    kind: Box<Kind>,
    cause: Option<Box<dyn error::Error + Send + Sync>>,
    /// The tunnel that it was about.
    path: Option<Box<TunnelPath>>,
}

/// What the log calls the cause where a client left, which is no failure.
pub(crate) const LEFT: &str = "left";

/// A cause that says by itself what to do.
#[derive(Debug)]
pub(crate) struct Advised(pub(crate) String);

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Advised {}

/// The other side of a connection that we opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The proxy that we connect to ourselves.
    Proxy(HostPort),
    /// The same, where a PAC file names it.
    Named(HostPort),
    /// One behind another (`--via`).
    Via(HostPort),
    /// The destination, where it isn't the proxy's to deal with it: it is connected to without one,
    /// or spoken to in TLS.
    Destination(HostPort),
}

/// What was going on when time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Resolving the name and connecting to one of its addresses.
    Connecting,
    /// Resolving a name for a proxy that takes addresses alone.
    Locating,
    /// Sending the request and waiting for the end of the reply, or TLS's own handshake.
    Handshaking,
}

/// What went wrong, as far as counters and advice tell one from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A name has no address.
    Name,
    /// No connection could be made.
    Connection,
    /// No connection was made in time.
    ConnectTimeout,
    /// There is no TLS with the proxy, or with the destination.
    Tls,
    /// The proxy ended the connection before it replied, or it broke.
    Lost,
    /// The proxy didn't reply in time.
    HandshakeTimeout,
    /// What it said is no reply.
    Malformed,
    /// It said no.
    Refused,
    /// It wants credentials, or others.
    Credentials,
    /// The embedded proxy said no.
    Rejection,
    /// The PAC file named no way.
    Undecided,
    /// An open tunnel was cut.
    RelayError,
    /// It was this machine that lacked something.
    Exhaustion,
    /// Anything else: what we were told, or what we listen on.
    Other,
}

impl Cause {
    /// All of them, in their order.
    pub const ALL: [Cause; 14] = [
        Cause::Name,
        Cause::Connection,
        Cause::ConnectTimeout,
        Cause::Tls,
        Cause::Lost,
        Cause::HandshakeTimeout,
        Cause::Malformed,
        Cause::Refused,
        Cause::Credentials,
        Cause::Rejection,
        Cause::Undecided,
        Cause::RelayError,
        Cause::Exhaustion,
        Cause::Other,
    ];

    /// What counters call it.
    pub fn label(self) -> &'static str {
        match self {
            Cause::Name => "name",
            Cause::Connection => "connection",
            Cause::ConnectTimeout => "connect_timeout",
            Cause::Tls => "tls",
            Cause::Lost => "lost",
            Cause::HandshakeTimeout => "handshake_timeout",
            Cause::Malformed => "malformed",
            Cause::Refused => "refused",
            Cause::Credentials => "credentials",
            Cause::Rejection => "denied",
            Cause::Undecided => "undecided",
            Cause::RelayError => "cut",
            Cause::Exhaustion => "shortage",
            Cause::Other => "other",
        }
    }
}

#[derive(Debug)]
enum Kind {
    Usage(String),
    /// The address, and its port if it is one of TCP.
    Listen(String, Option<u16>),
    Resolve(Peer),
    Locate(Peer),
    Connect(Peer),
    Secure(Peer),
    Negotiation(Peer),
    Ended(Peer),
    Malformed(Peer),
    TimedOut(Phase, Peer, Duration),
    Refused(Peer, HostPort, Box<Refusal>),
    Rejection(String),
    Left,
    Undecided(String, HostPort),
    RelayError(String),
    Other(String),
}

impl Error {
    /// The command line, an environment variable or a file it names is wrong.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Kind::Usage(message.into()))
    }

    /// `address` can't be listened on.
    pub fn listen(address: impl fmt::Display, cause: io::Error) -> Error {
        Error::new(Kind::Listen(address.to_string(), None)).because(cause)
    }

    /// The same of a TCP address, with what to do about the usual causes.
    pub(crate) fn listen_on_port(address: SocketAddr, cause: io::Error) -> Error {
        Error::new(Kind::Listen(address.to_string(), Some(address.port()))).because(cause)
    }

    /// The same, naming what the listener was for; any other error stays as it is.
    pub(crate) fn listening_for(mut self, purpose: impl fmt::Display) -> Error {
        if let Kind::Listen(address, _) = &mut *self.kind {
            *address = format!("{} for {}", address, purpose);
        }
        self
    }

    /// What helps when a port can't be listened on.
    fn listening_hint(&self) -> Option<&'static str> {
        let port = match *self.kind {
            Kind::Listen(_, Some(port)) => port,
            _ => return None,
        };
        match self.io_cause()?.kind() {
            io::ErrorKind::AddrInUse => {
                Some("another socket has this port, `ss -ltnp` shows whose; choose another port")
            }
            io::ErrorKind::PermissionDenied if port < 1024 => Some(
                "ports below 1024 need root or CAP_NET_BIND_SERVICE; choose a higher port, or \
                 let systemd bind it and give fd:NAME",
            ),
            _ => None,
        }
    }

    /// The peer's name has no address, or none of the wanted family.
    pub fn resolve(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Resolve(peer)).because(cause)
    }

    /// The same of a peer that a proxy was to connect to: that one hasn't been asked.
    pub fn locate(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Locate(peer)).because(cause)
    }

    /// None of the peer's addresses took the connection; `cause` is the last one's answer.
    pub fn connect(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Connect(peer)).because(cause)
    }

    /// There is no TLS with the peer, which was reached; `cause` is the reason.
    pub fn secure(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Secure(peer)).because(cause)
    }

    /// The connection broke before the reply was complete.
    pub fn exchange(peer: Peer, cause: io::Error) -> Error {
        Error::new(Kind::Negotiation(peer)).because(cause)
    }

    /// The proxy wanted another connection for the rest of the exchange, and `cause` kept us from
    /// making one. It was reached before: it isn't gone round.
    pub fn redial(peer: Peer, cause: Error) -> Error {
        Error::new(Kind::Negotiation(peer)).because(cause)
    }

    /// The proxy ended the connection before its reply was complete.
    pub fn ended(peer: Peer) -> Error {
        Error::new(Kind::Ended(peer))
    }

    /// The proxy's reply isn't one in its protocol, or isn't within our limits.
    pub fn malformed(peer: Peer, cause: Malformed) -> Error {
        Error::new(Kind::Malformed(peer)).because(cause)
    }

    /// `phase` took longer than `limit`.
    pub fn timed_out(phase: Phase, peer: Peer, limit: Duration) -> Error {
        Error::new(Kind::TimedOut(phase, peer, limit))
    }

    /// The same, and `why` that may be, with what to do.
    pub(crate) fn late(phase: Phase, peer: Peer, limit: Duration, why: Option<&str>) -> Error {
        let error = Error::timed_out(phase, peer, limit);
        match why {
            Some(why) => {
                let why = Advised(why.into());
                error.because(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            None => error,
        }
    }

    /// The proxy answered, with a no.
    pub fn refused(proxy: Peer, destination: HostPort, refusal: Refusal) -> Error {
        Error::new(Kind::Refused(proxy, destination, Box::new(refusal)))
    }

    /// The tunnel to `destination` stood, and was cut.
    pub fn cut(
        destination: impl fmt::Display,
        cause: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Error {
        let path = TunnelPath::to(&destination);
        let error = Error::new(Kind::RelayError(destination.to_string()));
        error.because(cause).on(path)
    }

    /// The PAC file of this name was asked for a way to `destination`, and named none.
    pub fn undecided(
        file: impl Into<String>,
        destination: HostPort,
        cause: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Error {
        let path = TunnelPath::to(&destination);
        let error = Error::new(Kind::Undecided(file.into(), destination));
        error.because(cause).on(path)
    }

    /// The embedded proxy said no to its client; `how` is its answer and the reason.
    pub fn denied(how: impl Into<String>) -> Error {
        Error::new(Kind::Rejection(how.into()))
    }

    /// The client was gone before it had said what it wants: it ended its connection, or `cause` did.
    pub fn left(cause: Option<io::Error>) -> Error {
        let error = Error::new(Kind::Left);
        match cause {
            Some(cause) => error.because(cause),
            None => error,
        }
    }

    /// Something on this machine failed: `what` names it.
    pub fn other(what: impl Into<String>, cause: io::Error) -> Error {
        Error::new(Kind::Other(what.into())).because(cause)
    }

    fn new(kind: Kind) -> Error {
        Error {
            kind: Box::new(kind),
            cause: None,
            path: None,
        }
    }

    fn because(mut self, cause: impl Into<Box<dyn error::Error + Send + Sync>>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    /// The same, of a client whose tunnel was to lead to `destination`.
    pub fn to(self, destination: impl fmt::Display) -> Error {
        self.on(TunnelPath::to(destination))
    }

    /// The same, of a tunnel that was to take this way.
    pub(crate) fn on(mut self, path: TunnelPath) -> Error {
        self.path = Some(Box::new(path));
        self
    }

    /// The tunnel that it was about, as far as that is known.
    pub(crate) fn path(&self) -> Option<&TunnelPath> {
        self.path.as_deref()
    }

    /// That tunnel and the cause, as data for the log.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = self.path().map_or_else(Fields::new, TunnelPath::fields);
        let cause = if self.is_departure() {
            LEFT
        } else {
            self.cause().label()
        };
        fields.push(("cause", FieldValue::Text(cause.into())));
        fields
    }

    /// The user's input is wrong; nothing was tried.
    pub fn is_usage(&self) -> bool {
        matches!(*self.kind, Kind::Usage(_))
    }

    /// No connection to the peer could be made: its name, its address, or time ran out; and not
    /// for want of something of ours.
    ///
    /// The only kind of failure after which `--direct-fallback` applies.
    pub fn is_unreachable(&self) -> bool {
        match *self.kind {
            Kind::Resolve(_) | Kind::Connect(_) => !self.is_shortage(),
            Kind::TimedOut(phase, ..) => phase == Phase::Connecting,
            _ => false,
        }
    }

    /// This machine had no descriptor, port or memory left for a connection to the peer, of whom
    /// nothing is known then.
    pub fn is_shortage(&self) -> bool {
        self.shortage().is_some()
    }

    fn shortage(&self) -> Option<Exhaustion> {
        match *self.kind {
            Kind::Resolve(_) | Kind::Locate(_) | Kind::Connect(_) => {
                self.io_cause().and_then(Exhaustion::of)
            }
            _ => None,
        }
    }

    /// It came about before a proxy had anything to do with it.
    pub fn is_no_proxys_fault(&self) -> bool {
        match *self.kind {
            Kind::Locate(_) => true,
            Kind::TimedOut(phase, ..) => phase == Phase::Locating,
            _ => self.is_shortage(),
        }
    }

    /// The client was gone before it could be served: nobody failed.
    pub fn is_departure(&self) -> bool {
        matches!(*self.kind, Kind::Left)
    }

    /// The proxy answered and said no, for whatever reason.
    pub fn is_refusal(&self) -> bool {
        matches!(*self.kind, Kind::Refused(..))
    }

    /// A way led to its end, and what is there won't do: the proxy said no, or the destination has no
    /// TLS for us. No way has failed, and no other one is tried, unless the user
    /// [wants it](crate::config::FailoverOn).
    pub fn is_answer(&self) -> bool {
        self.is_refusal() || self.is_of_destinations_tls()
    }

    /// It is about this destination: the next client may ask for one that can be reached.
    pub(crate) fn is_of_destination(&self) -> bool {
        self.is_answer() && !self.wants_credentials() || self.without_a_way().is_some()
    }

    /// There is no TLS with the destination, or not in time.
    pub(crate) fn is_of_destinations_tls(&self) -> bool {
        matches!(
            *self.kind,
            Kind::Secure(Peer::Destination(_))
                | Kind::TimedOut(Phase::Handshaking, Peer::Destination(_), _)
        )
    }

    /// The proxy wants credentials, or others than it was given.
    pub fn wants_credentials(&self) -> bool {
        matches!(&*self.kind, Kind::Refused(_, _, refusal) if refusal.wants_credentials())
    }

    /// A phase took longer than it may.
    pub fn is_timeout(&self) -> bool {
        matches!(*self.kind, Kind::TimedOut(..))
    }

    /// The peer's name only has addresses that aren't allowed.
    pub(crate) fn is_forbidden(&self) -> bool {
        let is_denied = |e: &io::Error| e.kind() == io::ErrorKind::PermissionDenied;
        matches!(*self.kind, Kind::Resolve(_)) && self.io_cause().map_or(false, is_denied)
    }

    /// Why there is no way to the destination itself, where it was tried.
    pub(crate) fn without_a_way(&self) -> Option<&io::Error> {
        match *self.kind {
            Kind::Resolve(Peer::Destination(_)) | Kind::Connect(Peer::Destination(_)) => {
                self.io_cause().filter(|_| !self.is_shortage())
            }
            _ => None,
        }
    }

    /// What went wrong, in one word.
    pub fn cause(&self) -> Cause {
        match *self.kind {
            _ if self.is_shortage() => Cause::Exhaustion,
            Kind::Resolve(_) | Kind::Locate(_) => Cause::Name,
            Kind::Connect(_) => Cause::Connection,
            Kind::TimedOut(Phase::Connecting, ..) | Kind::TimedOut(Phase::Locating, ..) => {
                Cause::ConnectTimeout
            }
            Kind::TimedOut(Phase::Handshaking, ..) => Cause::HandshakeTimeout,
            Kind::Secure(_) => Cause::Tls,
            Kind::Negotiation(_) | Kind::Ended(_) => Cause::Lost,
            Kind::Malformed(_) => Cause::Malformed,
            Kind::Refused(..) if self.wants_credentials() => Cause::Credentials,
            Kind::Refused(..) => Cause::Refused,
            Kind::Rejection(_) => Cause::Rejection,
            Kind::Undecided(..) => Cause::Undecided,
            Kind::RelayError(_) => Cause::RelayError,
            Kind::Usage(_) | Kind::Listen(..) | Kind::Left | Kind::Other(_) => Cause::Other,
        }
    }

    /// Where our user says who we are to the proxy that refused.
    pub(crate) fn account(&self) -> Option<Account> {
        match &*self.kind {
            Kind::Refused(proxy, _, refusal) => Some(Account::with(proxy, refusal)),
            _ => None,
        }
    }

    /// With whom there was no TLS.
    pub(crate) fn without_tls(&self) -> Option<&HostPort> {
        match &*self.kind {
            Kind::Secure(peer) => Some(peer.address()),
            _ => None,
        }
    }

    /// Whether its text says what to do, in our words: not whether others' words in it do.
    pub(crate) fn is_advised(&self) -> bool {
        let io_cause = self.io_cause().and_then(io::Error::get_ref);
        if io_cause.map_or(false, |cause| cause.is::<Advised>()) {
            return true;
        }
        let cause = error::Error::source(self);
        if let Some(malformed) = cause.and_then(|cause| cause.downcast_ref::<Malformed>()) {
            return malformed.is_advised();
        }
        if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<Error>()) {
            return error.is_advised();
        }
        self.refusal().map_or(false, Refusal::is_advised)
    }

    fn io_cause(&self) -> Option<&io::Error> {
        error::Error::source(self)?.downcast_ref()
    }

    /// The status of the refusal, where it is an HTTP reply of this proxy.
    pub(crate) fn http_status_of(&self, proxy: &Peer) -> Option<u16> {
        match &*self.kind {
            Kind::Refused(peer, _, refusal) if peer == proxy => match &**refusal {
                Refusal::Http(refusal) => Some(refusal.status()),
                Refusal::Socks(_) => None,
            },
            _ => None,
        }
    }

    /// The reply of the proxy, when there was one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &*self.kind {
            Kind::Refused(_, _, refusal) => Some(refusal),
            _ => None,
        }
    }

    /// 1 network, 2 usage, 3 the proxy refused, 4 the proxy wants (other) credentials.
    pub fn exit_code(&self) -> i32 {
        if self.is_usage() {
            2
        } else if self.wants_credentials() {
            4
        } else if self.is_refusal() {
            3
        } else {
            1
        }
    }
}

impl From<ParseError> for Error {
    fn from(e: ParseError) -> Error {
        match e {
            ParseError::Invalid(message) => Error::usage(message),
            ParseError::Tls(e) => Error::other("cannot set up TLS", e),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Usage(message) => f.write_str(message)?,
            Kind::Listen(address, _) => write!(f, "cannot listen on {}", address)?,
            Kind::Resolve(peer) | Kind::Locate(peer) => write!(f, "cannot resolve {}", peer)?,
            Kind::Connect(peer) => write!(f, "cannot connect to {}", peer)?,
            Kind::Secure(peer) => write!(f, "no TLS with {}", peer)?,
            Kind::Negotiation(peer) => {
                write!(f, "lost the connection to {} before it replied", peer)?
            }
            Kind::Ended(peer) => write!(f, "{} closed the connection before it replied", peer)?,
            Kind::Malformed(peer) => write!(f, "{} sent no valid reply", peer)?,
            Kind::TimedOut(Phase::Connecting, peer, limit) => {
                write!(f, "no connection to {} within {}", peer, Seconds(*limit))?
            }
            Kind::TimedOut(Phase::Locating, peer, limit) => {
                write!(f, "no address of {} within {}", peer, Seconds(*limit))?
            }
            Kind::TimedOut(Phase::Handshaking, peer, limit) => {
                write!(f, "no reply from {} within {}", peer, Seconds(*limit))?
            }
            Kind::Refused(proxy, destination, refusal) => {
                write!(f, "{} refused {}: {}", proxy, destination, refusal)?;
                if let Some(hint) = refusal.hint() {
                    write!(f, ": {}", Account::with(proxy, refusal).hinted(hint))?;
                }
                if let Some(scheme) = refusal.other_scheme() {
                    let scheme = scheme.to_string().to_ascii_lowercase();
                    write!(
                        f,
                        "; or does it take {} alone? try --proxy-auth {}",
                        scheme, scheme
                    )?;
                }
            }
            Kind::Rejection(how) => write!(f, "denied: {}", how)?,
            Kind::Left => f.write_str("it left without a request")?,
            Kind::Undecided(file, destination) => {
                write!(f, "{} names no way to {}", file, destination)?
            }
            Kind::RelayError(destination) => write!(f, "the tunnel to {} was cut", destination)?,
            Kind::Other(what) => f.write_str(what)?,
        }
        if let Some(cause) = &self.cause {
            write!(f, ": {}", cause)?;
        }
        if let Some(hint) = self.listening_hint() {
            write!(f, "; {}", hint)?;
        }
        match self.shortage() {
            Some(shortage) => write!(f, "; {}", shortage),
            None => Ok(()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.cause {
            Some(cause) => Some(&**cause),
            None => None,
        }
    }
}

impl Peer {
    /// Where it is.
    pub fn address(&self) -> &HostPort {
        match self {
            Peer::Proxy(address)
            | Peer::Named(address)
            | Peer::Via(address)
            | Peer::Destination(address) => address,
        }
    }
}

/// Where our user says who we are to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// In `--user`, and in what goes with it.
    User,
    /// In the URL of `--via`.
    Via,
    /// In the file of `--proxy-netrc`.
    Netrc,
}

impl Account {
    /// With this proxy, which refused like that.
    fn with(proxy: &Peer, refusal: &Refusal) -> Account {
        match (proxy, refusal) {
            (Peer::Via(_), _) => Account::Via,
            // Of those that a PAC file names `--user` is for the ones with HTTP.
            (Peer::Named(_), Refusal::Socks(_)) => Account::Netrc,
            _ => Account::User,
        }
    }

    /// What our user can do there.
    fn hinted(self, hint: Hint) -> &'static str {
        match (self, hint) {
            (Account::User, Hint::Give) => "give --user and the password",
            (Account::User, Hint::Check) => "check --user and the password",
            (Account::User, Hint::Own) => "give --user the one that ptunnel runs as",
            (Account::Via, Hint::Give) => "its user stands in --via's URL",
            (Account::Via, Hint::Check) => "check the user in --via's URL, and the password",
            (Account::Via, Hint::Own) => "--via's URL wants the user that ptunnel runs as",
            (Account::Netrc, Hint::Give) => {
                "its user stands in --proxy-netrc's file, since a PAC file names it"
            }
            (Account::Netrc, Hint::Check) => {
                "check the user in --proxy-netrc's file, and the password"
            }
            (Account::Netrc, Hint::Own) => {
                "--proxy-netrc's file wants the user that ptunnel runs as"
            }
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Proxy(address) | Peer::Named(address) | Peer::Via(address) => {
                write!(f, "proxy {}", address)
            }
            Peer::Destination(address) => write!(f, "{}", address),
        }
    }
}

/// A duration as people write it: `10s`, `0.25s`.
pub struct Seconds(pub Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> Peer {
        Peer::Proxy("10.0.0.1:3128".parse().unwrap())
    }

    fn os(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    /// `--direct-fallback` went round a proxy of whom nothing was known: it was we who had no port.
    #[test]
    fn what_this_machine_lacks_makes_no_proxy_unreachable() {
        for code in &[
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOSPC,
            libc::EADDRNOTAVAIL,
            libc::ENOBUFS,
            libc::ENOMEM,
        ] {
            for error in &[
                Error::connect(proxy(), os(*code)),
                Error::resolve(proxy(), os(*code)),
            ] {
                assert!(error.is_shortage() && !error.is_unreachable(), "{}", error);
                let text = error.to_string();
                let cause = os(*code).to_string();
                assert!(
                    text.contains(&format!("10.0.0.1:3128: {}; this ", cause)),
                    "{}",
                    text
                );
            }
        }
    }

    #[test]
    fn what_the_way_to_a_proxy_lacks_makes_it_unreachable() {
        let refused = Error::connect(proxy(), os(libc::ECONNREFUSED));
        assert!(refused.is_unreachable() && !refused.is_shortage());
        assert_eq!(
            refused.to_string(),
            format!(
                "cannot connect to proxy 10.0.0.1:3128: {}",
                os(libc::ECONNREFUSED)
            )
        );
        let unknown = Error::resolve(proxy(), io::ErrorKind::NotFound.into());
        assert!(unknown.is_unreachable() && !unknown.is_shortage());
    }

    /// It would have been gone round, or left aside for others.
    #[test]
    fn a_target_that_is_not_found_here_makes_no_proxy_unreachable() {
        let target = || Peer::Destination("nowhere.invalid:22".parse().unwrap());
        let limit = Duration::from_secs(10);
        let unknown = Error::locate(target(), io::ErrorKind::NotFound.into());
        let late = Error::timed_out(Phase::Locating, target(), limit);
        for error in &[unknown, late] {
            assert!(error.is_no_proxys_fault() && !error.is_unreachable());
        }
        let dead = Error::connect(proxy(), os(libc::ECONNREFUSED));
        assert!(!dead.is_no_proxys_fault());
        assert!(Error::connect(proxy(), os(libc::EMFILE)).is_no_proxys_fault());
    }

    /// The next proxy of the list was asked for the same destination, and this one left aside.
    #[test]
    fn what_a_destination_says_in_tls_is_final_and_no_proxys_doing() {
        let destination = || Peer::Destination("mail.example:993".parse().unwrap());
        let limit = Duration::from_secs(30);
        let kind = io::ErrorKind::InvalidData;
        let distrusted = Error::secure(destination(), kind.into());
        let late = Error::timed_out(Phase::Handshaking, destination(), limit);
        for error in &[distrusted, late] {
            assert!(error.is_answer() && !error.is_refusal() && !error.is_unreachable());
            assert_eq!(error.exit_code(), 1);
        }
        let of_proxy = Error::secure(proxy(), kind.into());
        let late = Error::timed_out(Phase::Handshaking, proxy(), limit);
        let unreached = Error::connect(destination(), os(libc::ECONNREFUSED));
        for error in &[of_proxy, late, unreached] {
            assert!(!error.is_answer(), "{}", error);
        }
    }

    #[test]
    fn a_proxy_that_was_reached_is_never_unreachable() {
        let lost = Error::exchange(proxy(), os(libc::ENOBUFS));
        assert!(!lost.is_unreachable() && !lost.is_shortage());
        assert!(!Error::ended(proxy()).is_unreachable());
    }
}
