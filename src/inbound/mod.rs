//! Clients that name their destination themselves (`-D`), in SOCKS, with HTTP's CONNECT or with a
//! request for an `http://` URL, on one port: the first byte tells which.
//!
//! From what a client sends to what it asks for, and from how its opening went to what it is told.
//! Who may ask is judged here, what for hardly is: whoever is served may have what the proxy grants,
//! and directly, from another machine, anything but this one.

mod http;
pub mod policy;
mod socks4;
mod socks5;

use std::fmt;
use std::sync::Arc;

use self::http::Http;
use crate::config::{Credentials, HostPort};
use crate::error::Error;
use crate::proto::{self, RequestBoundary, Socks4Server, Socks5Server};
use crate::upstream::{ProxySelector, Tunnel};

/// Such clients: who they must be, and what carries them. Cheap to clone, and to send to another
/// thread.
#[derive(Clone, Debug)]
pub struct DynamicConfig {
    gateway: ProxySelector,
    user: Option<Arc<Credentials>>,
    are_of_others: bool,
}

impl DynamicConfig {
    /// Those who are `user`, or anybody, carried by this gateway.
    pub fn new(gateway: &ProxySelector, user: Option<&Credentials>) -> DynamicConfig {
        DynamicConfig {
            gateway: gateway.clone(),
            user: user.cloned().map(Arc::new),
            are_of_others: false,
        }
    }

    /// The same, where others than this machine can come in: what it serves to itself, and its
    /// link, is nothing for them.
    pub fn of_others(self) -> DynamicConfig {
        DynamicConfig {
            are_of_others: true,
            ..self
        }
    }

    /// To where one of them wants to go.
    pub fn tunnel(&self, destination: HostPort) -> Tunnel {
        let tunnel = Tunnel::of_guest(destination, &self.gateway);
        if self.are_of_others {
            tunnel.elsewhere()
        } else {
            tunnel
        }
    }

    /// What they may speak.
    pub(crate) fn languages(&self) -> &'static str {
        languages(self.user.as_deref())
    }

    /// What carries them.
    pub fn gateway(&self) -> &ProxySelector {
        &self.gateway
    }

    /// For one who has just come.
    pub fn handshake(&self) -> Handshake {
        Handshake {
            state: State::Silent(self.user.clone()),
        }
    }
}

/// What clients may speak who must be `user`, if that is anybody: SOCKS4 has no password.
pub(crate) fn languages(user: Option<&Credentials>) -> &'static str {
    match user {
        None => "SOCKS and HTTP",
        Some(_) => "SOCKS5 and HTTP",
    }
}

impl PartialEq for DynamicConfig {
    /// Whether both are the same people, who go the same ways.
    fn eq(&self, other: &DynamicConfig) -> bool {
        self.user == other.user
            && self.are_of_others == other.are_of_others
            && self.gateway.route() == other.gateway.route()
    }
}

/// A client heard out, until it has said what it wants; the default hears anybody.
#[derive(Debug, Default)]
pub struct Handshake {
    state: State,
}

#[derive(Debug)]
enum State {
    /// It has said nothing yet, and must be this user, if any.
    Silent(Option<Arc<Credentials>>),
    Speaking(Box<dyn InboundHandshake>),
}

impl Default for State {
    fn default() -> State {
        State::Silent(None)
    }
}

/// What a client says in one language, as far as its request.
trait InboundHandshake: fmt::Debug + Send {
    /// Adds what came.
    fn feed(&mut self, piece: &[u8]) -> Step;

    /// What came behind the request.
    fn into_rest(self: Box<Self>) -> Vec<u8>;
}

/// The dialogue that a client begins with this byte, who must be `user`, if that is anybody.
fn dialogue(first: u8, user: Option<Arc<Credentials>>) -> Box<dyn InboundHandshake> {
    match first {
        proto::VERSION_4 => Box::new(Socks4Server::new(user.is_some())),
        proto::VERSION => Box::new(Socks5Server::new(user)),
        _ => Box::new(Http::new(user)),
    }
}

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    /// To read on.
    Read,
    /// To send this, and to ask again without anything new.
    Send(Vec<u8>),
    /// To connect it.
    ConnectRequest(ConnectRequest),
    /// To send it away.
    Rejection(Rejection),
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub struct ConnectRequest {
    /// Where it wants to be connected to.
    pub destination: HostPort,
    /// How it is to be told.
    pub language: InboundProtocol,
}

/// Why a client isn't served.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// What it is told.
    pub reply: Vec<u8>,
    /// What the log says.
    pub why: String,
}

impl Handshake {
    /// Adds what came.
    pub fn feed(&mut self, piece: &[u8]) -> Step {
        if let (State::Silent(user), Some(first)) = (&self.state, piece.first()) {
            self.state = State::Speaking(dialogue(*first, user.clone()));
        }
        match &mut self.state {
            State::Silent(_) => Step::Read,
            State::Speaking(dialogue) => dialogue.feed(piece),
        }
    }

    /// What is for the destination of what came: all behind the request, and the request itself,
    /// rewritten, where that is to be sent on.
    pub fn into_rest(self) -> Vec<u8> {
        match self.state {
            State::Silent(_) => Vec::new(),
            State::Speaking(dialogue) => dialogue.into_rest(),
        }
    }
}

impl Step {
    fn denied(reply: Vec<u8>, why: impl fmt::Display) -> Step {
        let why = why.to_string();
        Step::Rejection(Rejection { reply, why })
    }
}

/// What a client speaks, and so is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundProtocol {
    /// RFC 9110 §9.3.6.
    Http,
    /// Plain HTTP: a request to be sent on (RFC 9112 §3.2.2), of which the destination gets as much
    /// as the passage lets through.
    Forward(RequestBoundary),
    /// SOCKS 4 and 4A.
    Socks4,
    /// RFC 1928.
    Socks5,
}

impl InboundProtocol {
    fn asked(self, destination: HostPort) -> Step {
        Step::ConnectRequest(ConnectRequest {
            destination,
            language: self,
        })
    }

    /// What lets a client's bytes through to its destination, if that isn't all of them.
    pub fn passage(self) -> Option<RequestBoundary> {
        match self {
            InboundProtocol::Forward(passage) => Some(passage),
            InboundProtocol::Http | InboundProtocol::Socks4 | InboundProtocol::Socks5 => None,
        }
    }

    /// The answer to a client whose destination is connected; nothing where that has the word.
    pub fn granted(self) -> Vec<u8> {
        match self {
            InboundProtocol::Http => http::granted(),
            InboundProtocol::Forward(_) => Vec::new(),
            InboundProtocol::Socks4 => socks4::granted(),
            InboundProtocol::Socks5 => socks5::granted(),
        }
    }

    /// The answer to one whose destination can't be.
    pub fn failed(self, error: &Error) -> Vec<u8> {
        match self {
            InboundProtocol::Http => http::failed(error),
            InboundProtocol::Forward(_) => http::unforwarded(error),
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

    fn denied(bytes: &[u8]) -> Rejection {
        match Handshake::default().feed(bytes) {
            Step::Rejection(denied) => denied,
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn the_first_byte_tells_the_language() {
        let mut http = Handshake::default();
        assert!(matches!(http.feed(b""), Step::Read));
        assert!(matches!(
            http.feed(b"CONNECT [::1]:22 HTTP/1.1\r\n"),
            Step::Read
        ));
        match http.feed(b"\r\nSSH-") {
            Step::ConnectRequest(asked) => {
                assert_eq!(asked.language, InboundProtocol::Http);
                assert_eq!(asked.destination.to_string(), "[::1]:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(http.into_rest(), b"SSH-");

        let mut socks = Handshake::default();
        assert!(matches!(socks.feed(&[5]), Step::Read));
        assert!(matches!(socks.feed(&[1, 0]), Step::Send(_)));
        match socks.feed(b"\x05\x01\x00\x03\x01a\x00\x16SSH-") {
            Step::ConnectRequest(asked) => {
                assert_eq!(asked.language, InboundProtocol::Socks5);
                assert_eq!(asked.destination.to_string(), "a:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(socks.into_rest(), b"SSH-");

        let mut older = Handshake::default();
        assert!(matches!(older.feed(&[4]), Step::Read));
        match older.feed(b"\x01\x00\x16\x00\x00\x00\x01\x00a\x00SSH-") {
            Step::ConnectRequest(asked) => {
                assert_eq!(asked.language, InboundProtocol::Socks4);
                assert_eq!(asked.destination.to_string(), "a:22");
            }
            other => panic!("{:?}", other),
        }
        assert_eq!(older.into_rest(), b"SSH-");
    }

    #[test]
    fn who_must_be_somebody_is_asked_in_every_language() {
        let route = Route::default();
        let joe = Credentials::new("joe", Secret::new("x")).unwrap();
        let guests = DynamicConfig::new(&ProxySelector::new(route), Some(&joe));
        let ask = |said: &[u8]| guests.handshake().feed(said);
        match ask(b"CONNECT a:22 HTTP/1.1\r\nProxy-Authorization: Basic am9lOng=\r\n\r\n") {
            Step::ConnectRequest(asked) => assert_eq!(asked.destination.to_string(), "a:22"),
            other => panic!("{:?}", other),
        }
        match ask(b"CONNECT a:22 HTTP/1.1\r\n\r\n") {
            Step::Rejection(denied) => assert!(denied.reply.starts_with(b"HTTP/1.1 407 ")),
            other => panic!("{:?}", other),
        }
        assert!(matches!(ask(&[5, 1, 2]), Step::Send(answer) if answer == [5, 2]));
        assert!(matches!(ask(&[5, 1, 0]), Step::Rejection(_)));
        match ask(b"\x04\x01\x00\x16\x7f\x00\x00\x01joe\x00") {
            Step::Rejection(denied) => assert_eq!(denied.reply[..2], [0, 91]),
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn a_request_to_be_sent_on_is_put_in_front_of_what_follows() {
        let said = b"PUT http://a:8/b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe";
        let mut http = Handshake::default();
        let (asked, last) = said.split_at(said.len() - 3);
        assert!(matches!(http.feed(asked), Step::Read));
        let language = match http.feed(last) {
            Step::ConnectRequest(asked) => {
                assert_eq!(asked.destination.to_string(), "a:8");
                asked.language
            }
            other => panic!("{:?}", other),
        };
        assert_eq!(language.granted(), b"");
        let all = http.into_rest();
        let head = b"PUT /b HTTP/1.1\r\nHost: a:8\r\nContent-Length: 5\r\n\
                     Connection: close\r\n\r\n";
        assert_eq!(all, [&head[..], b"he"].concat());
        let mut passage = language.passage().unwrap();
        assert_eq!(passage.take(&all), Ok(all.len()));
        assert_eq!(passage.take(b"lloGET /"), Ok(3));
        assert_eq!(InboundProtocol::Http.passage(), None);
    }

    #[test]
    fn everything_else_is_denied_in_its_own_language() {
        let bind = denied(&[4, 2]);
        assert_eq!((bind.reply[0], bind.reply[1]), (0, 91));
        assert!(bind.why.contains("BIND"), "{}", bind.why);
        let get = denied(b"GET / HTTP/1.1\r\n\r\n");
        assert!(get.reply.starts_with(b"HTTP/1.1 400 "));
        let portless = denied(b"CONNECT a HTTP/1.1\r\n\r\n");
        assert!(portless.reply.starts_with(b"HTTP/1.1 400 "));
        let rubbish = denied(b"\x17\n");
        assert!(rubbish.reply.starts_with(b"HTTP/1.1 400 "));
        assert!(rubbish.why.contains("not HTTP/1"), "{}", rubbish.why);
        // Without a line end among its bytes it waited for the handshake timeout.
        let tls = denied(b"\x16\x03\x01\x02");
        assert!(tls.reply.starts_with(b"HTTP/1.1 400 "));
        assert!(tls.why.contains("not HTTP/1 but TLS"), "{}", tls.why);
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
    fn what_went_wrong_is_told_in_every_language() {
        let destination = Peer::Destination("example.org:22".parse().unwrap());
        let proxy = Peer::Proxy("10.0.0.1:3128".parse().unwrap());
        let os = io::Error::from_raw_os_error;
        let unknown = || io::ErrorKind::NotFound.into();
        let limit = std::time::Duration::from_secs(1);
        let request = Forward::rewrite(b"GET http://a/ HTTP/1.1\r\n\r\n").unwrap();
        let forward = InboundProtocol::Forward(request.passage);
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
            for language in &[InboundProtocol::Http, forward] {
                let head = String::from_utf8(language.failed(error)).unwrap();
                assert_eq!(head[9..12], **http, "{}", error);
            }
            let forwarded = String::from_utf8(forward.failed(error)).unwrap();
            let is_of_connect = matches!(error.refusal(), Some(Refusal::Http(_))) && *http == "403";
            assert_eq!(forwarded.contains("CONNECT to port 443"), is_of_connect);
        }
    }
}
