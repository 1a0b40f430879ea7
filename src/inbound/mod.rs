//! What clients that name their destination say, and the replies to them.
//!
//! This folder holds the two kinds of [`Inbound`]: [`DynamicConfig`] (`-D`: SOCKS, HTTP CONNECT and
//! requests for `http://` URLs on one port) and [`policy::Policy`] (`--serve-proxy`: CONNECT alone,
//! to destinations that an allow list covers, reached directly). Each reads a client's request from
//! its bytes and words the reply. Nothing here does I/O: `engine` drives both with the same code.
//!
//! It may use what stands below it: `upstream`, `proto`, `config`, `error`, the log's fields. The
//! listeners, the status page, `cli` and `engine` use it.

mod http;
pub mod policy;
mod socks4;
mod socks5;

use std::fmt;
use std::sync::Arc;

use self::http::HttpRequestReader;
use crate::config::{Credentials, HostPort};
use crate::error::Error;
use crate::proto::{self, RequestBoundary, Socks4Server, Socks5Server};
use crate::upstream::{ProxySelector, Tunnel};

/// A listener's rules for clients that name their destination.
pub trait Inbound: Clone + 'static {
    /// Returns the handshake with a new client.
    fn handshake(&self) -> InboundHandshake;

    /// Returns the tunnel to a destination that the handshake has granted.
    fn tunnel(&self, destination: HostPort) -> Tunnel;

    /// Returns the reply to a client whose destination can't be reached, and the error to log.
    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection;
}

/// The rules of a `-D` listener: the user that clients must be, and the proxies that carry them.
/// Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct DynamicConfig {
    gateway: ProxySelector,
    user: Option<Arc<Credentials>>,
    exclude_local: bool,
}

impl DynamicConfig {
    /// Returns the rules for clients that present `user`, or for any client if that is `None`.
    pub fn new(gateway: &ProxySelector, user: Option<&Credentials>) -> DynamicConfig {
        DynamicConfig {
            gateway: gateway.clone(),
            user: user.cloned().map(Arc::new),
            exclude_local: false,
        }
    }

    /// Excludes this machine and its links from the destinations that are reached directly: for a
    /// listener that other machines can connect to.
    pub fn exclude_local(self) -> DynamicConfig {
        DynamicConfig {
            exclude_local: true,
            ..self
        }
    }

    /// Returns the names of the protocols that clients can speak.
    pub(crate) fn protocols(&self) -> &'static str {
        protocols(self.user.as_deref())
    }

    /// Returns what selects the proxies for these clients.
    pub fn gateway(&self) -> &ProxySelector {
        &self.gateway
    }
}

impl Inbound for DynamicConfig {
    fn handshake(&self) -> InboundHandshake {
        InboundHandshake {
            state: State::Silent(self.user.clone()),
        }
    }

    fn tunnel(&self, destination: HostPort) -> Tunnel {
        let tunnel = Tunnel::chosen_by_client(destination, &self.gateway);
        if self.exclude_local {
            tunnel.excluding_local()
        } else {
            tunnel
        }
    }

    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection {
        let reply = request.protocol.failed(&error);
        Rejection { reply, error }
    }
}

/// Returns the names of the protocols that clients can speak that must present `user`: SOCKS4 has
/// no password.
pub(crate) fn protocols(user: Option<&Credentials>) -> &'static str {
    match user {
        None => "SOCKS and HTTP",
        Some(_) => "SOCKS5 and HTTP",
    }
}

impl PartialEq for DynamicConfig {
    /// Whether both were configured alike, whatever was learnt of the proxies since.
    fn eq(&self, other: &DynamicConfig) -> bool {
        self.user == other.user
            && self.exclude_local == other.exclude_local
            && self.gateway.route() == other.gateway.route()
    }
}

/// A client's request as it arrives, in whichever protocol the listener speaks. The default is that
/// of a `-D` listener without a user.
#[derive(Debug, Default)]
pub struct InboundHandshake {
    state: State,
}

#[derive(Debug)]
enum State {
    /// No byte has come yet. The client must present these credentials, if any.
    Silent(Option<Arc<Credentials>>),
    /// The protocol is known.
    Reading(Box<dyn RequestReader>),
}

impl Default for State {
    fn default() -> State {
        State::Silent(None)
    }
}

/// Reads a client's request in one protocol.
trait RequestReader: fmt::Debug + Send {
    /// Adds bytes that came.
    fn feed(&mut self, piece: &[u8]) -> HandshakeStep;

    /// Returns the bytes that came behind the request.
    fn into_rest(self: Box<Self>) -> Vec<u8>;
}

/// Returns the reader of the protocol that begins with the byte `first`, for clients that must
/// present `user`, if any.
fn reader(first: u8, user: Option<Arc<Credentials>>) -> Box<dyn RequestReader> {
    match first {
        proto::VERSION_4 => Box::new(Socks4Server::new(user.is_some())),
        proto::VERSION => Box::new(Socks5Server::new(user)),
        _ => Box::new(HttpRequestReader::of_user(user)),
    }
}

/// What the caller of a handshake does next.
#[derive(Debug)]
pub enum HandshakeStep {
    /// Read more, and feed it.
    Read,
    /// Send these bytes, then feed nothing.
    Send(Vec<u8>),
    /// Connect the client.
    ConnectRequest(ConnectRequest),
    /// Send the reply and close.
    Rejection(Rejection),
}

/// A client's request to be connected.
#[derive(Clone, Debug)]
pub struct ConnectRequest {
    /// The destination that the client named.
    pub destination: HostPort,
    /// The protocol in which the client gets its reply.
    pub protocol: InboundProtocol,
}

/// The refusal of a client.
#[derive(Debug)]
pub struct Rejection {
    /// The bytes to send to the client.
    pub reply: Vec<u8>,
    /// The error to log.
    pub error: Error,
}

impl InboundHandshake {
    fn reading(reader: impl RequestReader + 'static) -> InboundHandshake {
        InboundHandshake {
            state: State::Reading(Box::new(reader)),
        }
    }

    /// Adds bytes that came.
    pub fn feed(&mut self, piece: &[u8]) -> HandshakeStep {
        if let (State::Silent(user), Some(first)) = (&self.state, piece.first()) {
            self.state = State::Reading(reader(*first, user.clone()));
        }
        match &mut self.state {
            State::Silent(_) => HandshakeStep::Read,
            State::Reading(reader) => reader.feed(piece),
        }
    }

    /// Returns the bytes for the destination: all that came behind the request, and in front of
    /// them the rewritten request, where ptunnel forwards it.
    pub fn into_rest(self) -> Vec<u8> {
        match self.state {
            State::Silent(_) => Vec::new(),
            State::Reading(reader) => reader.into_rest(),
        }
    }
}

impl HandshakeStep {
    fn rejected(reply: Vec<u8>, why: impl fmt::Display) -> HandshakeStep {
        let error = Error::denied(why.to_string());
        HandshakeStep::Rejection(Rejection { reply, error })
    }
}

/// The protocol of a client's request, and so of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundProtocol {
    /// HTTP CONNECT (RFC 9110 §9.3.6).
    Http,
    /// A plain HTTP request that ptunnel forwards (RFC 9112 §3.2.2), and its end: the destination
    /// gets no byte behind that.
    Forward(RequestBoundary),
    /// SOCKS 4 and 4A.
    Socks4,
    /// SOCKS 5 (RFC 1928).
    Socks5,
}

impl InboundProtocol {
    fn asked(self, destination: HostPort) -> HandshakeStep {
        HandshakeStep::ConnectRequest(ConnectRequest {
            destination,
            protocol: self,
        })
    }

    /// Returns where the client's bytes to its destination end, where that isn't the end of its
    /// connection.
    pub fn request_boundary(self) -> Option<RequestBoundary> {
        match self {
            InboundProtocol::Forward(boundary) => Some(boundary),
            InboundProtocol::Http | InboundProtocol::Socks4 | InboundProtocol::Socks5 => None,
        }
    }

    /// Returns the reply to a client that is connected to its destination; empty where the
    /// destination itself replies.
    pub fn granted(self) -> Vec<u8> {
        match self {
            InboundProtocol::Http => policy::GRANTED.to_vec(),
            InboundProtocol::Forward(_) => Vec::new(),
            InboundProtocol::Socks4 => socks4::granted(),
            InboundProtocol::Socks5 => socks5::granted(),
        }
    }

    /// Returns the reply to a client whose destination can't be reached.
    pub fn failed(self, error: &Error) -> Vec<u8> {
        match self {
            InboundProtocol::Http => policy::HttpRejection::unreachable(error).reply(),
            InboundProtocol::Forward(_) => policy::HttpRejection::unforwarded(error).reply(),
            InboundProtocol::Socks4 => socks4::failed(),
            InboundProtocol::Socks5 => socks5::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::config::{Route, Secret};
    use crate::error::{Peer, Phase};
    use crate::proto::{
        Decoded, Forward, HttpRefusal, Refusal, Response, SocksRefusal, HEAD_LIMIT,
    };

    fn rejected(bytes: &[u8]) -> Rejection {
        match InboundHandshake::default().feed(bytes) {
            HandshakeStep::Rejection(rejection) => rejection,
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn the_first_byte_decides_the_protocol() {
        let mut http = InboundHandshake::default();
        assert!(matches!(http.feed(b""), HandshakeStep::Read));
        assert!(matches!(
            http.feed(b"CONNECT [::1]:22 HTTP/1.1\r\n"),
            HandshakeStep::Read
        ));
        match http.feed(b"\r\nSSH-") {
            HandshakeStep::ConnectRequest(asked) => {
                assert_eq!(asked.protocol, InboundProtocol::Http);
                assert_eq!(asked.destination.to_string(), "[::1]:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(http.into_rest(), b"SSH-");

        let mut socks = InboundHandshake::default();
        assert!(matches!(socks.feed(&[5]), HandshakeStep::Read));
        assert!(matches!(socks.feed(&[1, 0]), HandshakeStep::Send(_)));
        match socks.feed(b"\x05\x01\x00\x03\x01a\x00\x16SSH-") {
            HandshakeStep::ConnectRequest(asked) => {
                assert_eq!(asked.protocol, InboundProtocol::Socks5);
                assert_eq!(asked.destination.to_string(), "a:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(socks.into_rest(), b"SSH-");

        let mut socks4 = InboundHandshake::default();
        assert!(matches!(socks4.feed(&[4]), HandshakeStep::Read));
        match socks4.feed(b"\x01\x00\x16\x00\x00\x00\x01\x00a\x00SSH-") {
            HandshakeStep::ConnectRequest(asked) => {
                assert_eq!(asked.protocol, InboundProtocol::Socks4);
                assert_eq!(asked.destination.to_string(), "a:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(socks4.into_rest(), b"SSH-");
    }

    #[test]
    fn a_user_is_required_in_every_protocol() {
        let joe = Credentials::new("joe", Secret::new("x")).unwrap();
        let inbound = DynamicConfig::new(&ProxySelector::new(Route::default()), Some(&joe));
        let ask = |said: &[u8]| inbound.handshake().feed(said);
        match ask(b"CONNECT a:22 HTTP/1.1\r\nProxy-Authorization: Basic am9lOng=\r\n\r\n") {
            HandshakeStep::ConnectRequest(asked) => {
                assert_eq!(asked.destination.to_string(), "a:22")
            }
            other => panic!("{:?}", other),
        }
        match ask(b"CONNECT a:22 HTTP/1.1\r\n\r\n") {
            HandshakeStep::Rejection(denied) => assert!(denied.reply.starts_with(b"HTTP/1.1 407 ")),
            other => panic!("{:?}", other),
        }
        assert!(matches!(ask(&[5, 1, 2]), HandshakeStep::Send(answer) if answer == [5, 2]));
        assert!(matches!(ask(&[5, 1, 0]), HandshakeStep::Rejection(_)));
        match ask(b"\x04\x01\x00\x16\x7f\x00\x00\x01joe\x00") {
            HandshakeStep::Rejection(denied) => assert_eq!(denied.reply[..2], [0, 91]),
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn a_forwarded_request_precedes_what_follows() {
        let said = b"PUT http://a:8/b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe";
        let mut http = InboundHandshake::default();
        let (asked, last) = said.split_at(said.len() - 3);
        assert!(matches!(http.feed(asked), HandshakeStep::Read));
        let protocol = match http.feed(last) {
            HandshakeStep::ConnectRequest(asked) => {
                assert_eq!(asked.destination.to_string(), "a:8");
                asked.protocol
            }
            other => panic!("{:?}", other),
        };
        assert_eq!(protocol.granted(), b"");
        let all = http.into_rest();
        let head = b"PUT /b HTTP/1.1\r\nHost: a:8\r\nContent-Length: 5\r\n\
                     Connection: close\r\n\r\n";
        assert_eq!(all, [&head[..], b"he"].concat());
        let mut boundary = protocol.request_boundary().unwrap();
        assert_eq!(boundary.take(&all), Ok(all.len()));
        assert_eq!(boundary.take(b"lloGET /"), Ok(3));
        assert_eq!(InboundProtocol::Http.request_boundary(), None);
    }

    #[test]
    fn everything_else_is_rejected_in_its_own_protocol() {
        let bind = rejected(&[4, 2]);
        assert_eq!((bind.reply[0], bind.reply[1]), (0, 91));
        assert!(bind.error.to_string().contains("BIND"), "{}", bind.error);
        let get = rejected(b"GET / HTTP/1.1\r\n\r\n");
        assert!(get.reply.starts_with(b"HTTP/1.1 400 "));
        let portless = rejected(b"CONNECT a HTTP/1.1\r\n\r\n");
        assert!(portless.reply.starts_with(b"HTTP/1.1 400 "));
        let rubbish = rejected(b"\x17\n");
        assert!(rubbish.reply.starts_with(b"HTTP/1.1 400 "));
        assert!(
            rubbish.error.to_string().contains("not HTTP/1"),
            "{}",
            rubbish.error
        );
        // It has no line end: ptunnel once waited for the handshake timeout.
        let tls = rejected(b"\x16\x03\x01\x02");
        assert!(tls.reply.starts_with(b"HTTP/1.1 400 "));
        assert!(
            tls.error.to_string().contains("not HTTP/1 but TLS"),
            "{}",
            tls.error
        );
    }

    fn refused(status: u16) -> Error {
        let head = format!("HTTP/1.1 {} Why\r\n\r\n", status);
        let response = match Response::decode(head.as_bytes(), HEAD_LIMIT) {
            Ok(Decoded::Complete(response, _)) => response,
            other => panic!("{:?}", other),
        };
        let proxy = Peer::Proxy("10.0.0.1:3128".parse().unwrap());
        let destination = "example.org:22".parse().unwrap();
        let refusal = Refusal::Http(HttpRefusal::new(response, b""));
        Error::refused(proxy, destination, refusal)
    }

    fn refused_in_socks(code: u8) -> Error {
        refused_by_socks(SocksRefusal::Reply {
            code,
            by_name: true,
        })
    }

    fn refused_in_socks_4(code: u8) -> Error {
        refused_by_socks(SocksRefusal::Reply4 {
            code,
            by_name: true,
        })
    }

    fn refused_by_socks(refusal: SocksRefusal) -> Error {
        let proxy = Peer::Proxy("10.0.0.1:1080".parse().unwrap());
        let destination = "example.org:22".parse().unwrap();
        Error::refused(proxy, destination, Refusal::Socks(refusal))
    }

    #[test]
    fn a_failure_has_a_reply_in_every_protocol() {
        let destination = Peer::Destination("example.org:22".parse().unwrap());
        let proxy = Peer::Proxy("10.0.0.1:3128".parse().unwrap());
        let os = io::Error::from_raw_os_error;
        let unknown = || io::ErrorKind::NotFound.into();
        let limit = std::time::Duration::from_secs(1);
        let request = Forward::rewrite(b"GET http://a/ HTTP/1.1\r\n\r\n").unwrap();
        let forward = InboundProtocol::Forward(request.boundary);
        for (error, socks, http) in &[
            (refused(403), 2, "403"),
            (refused(407), 1, "502"),
            (refused(502), 4, "502"),
            (refused(503), 4, "503"),
            (refused(504), 6, "504"),
            (refused_in_socks(1), 1, "502"),
            (refused_in_socks(2), 2, "403"),
            (refused_in_socks(5), 5, "502"),
            (refused_in_socks(6), 6, "504"),
            (refused_in_socks(8), 1, "502"),
            (refused_in_socks_4(91), 1, "502"),
            (refused_in_socks_4(93), 1, "502"),
            (
                Error::connect(destination.clone(), os(libc::ECONNREFUSED)),
                5,
                "502",
            ),
            (
                Error::connect(destination.clone(), os(libc::ENETUNREACH)),
                3,
                "502",
            ),
            (
                Error::connect(destination.clone(), os(libc::EHOSTUNREACH)),
                4,
                "502",
            ),
            (
                Error::connect(destination.clone(), os(libc::EMFILE)),
                1,
                "503",
            ),
            (Error::resolve(destination.clone(), unknown()), 4, "502"),
            (
                Error::timed_out(Phase::Connecting, destination.clone(), limit),
                6,
                "504",
            ),
            (
                Error::connect(proxy.clone(), os(libc::ECONNREFUSED)),
                1,
                "502",
            ),
            (
                Error::timed_out(Phase::Handshaking, proxy.clone(), limit),
                6,
                "504",
            ),
            (Error::ended(proxy.clone()), 1, "502"),
        ] {
            assert_eq!(
                InboundProtocol::Socks5.failed(error)[1],
                *socks,
                "{}",
                error
            );
            assert_eq!(InboundProtocol::Socks4.failed(error)[1], 91, "{}", error);
            for protocol in &[InboundProtocol::Http, forward] {
                let head = String::from_utf8(protocol.failed(error)).unwrap();
                assert_eq!(head[9..12], **http, "{}", error);
            }
            let forwarded = String::from_utf8(forward.failed(error)).unwrap();
            let is_of_connect = matches!(error.refusal(), Some(Refusal::Http(_))) && *http == "403";
            assert_eq!(forwarded.contains("CONNECT to port 443"), is_of_connect);
        }
    }
}
