use std::io;

use super::*;
use crate::config::Route;
use crate::error::{Peer, Phase};
use crate::upstream::ProxySelector;
use ptunnel_proto::values::{Credentials, Secret};
use ptunnel_proto::{
    Forward, HttpRefusal, Refusal, Response, Secrets, SocksRefusal, Step, HEAD_LIMIT,
};

fn rejected(bytes: &[u8]) -> Rejection {
    match InboundHandshake::default().feed(bytes) {
        Err(rejection) => rejection,
        other => panic!("{:?}", other),
    }
}

#[test]
fn the_first_byte_decides_the_protocol() {
    let mut http = InboundHandshake::default();
    assert!(matches!(http.feed(b""), Ok(Step::Read)));
    assert!(matches!(
        http.feed(b"CONNECT [::1]:22 HTTP/1.1\r\n"),
        Ok(Step::Read)
    ));
    match http.feed(b"\r\nSSH-") {
        Ok(Step::Done(request)) => {
            assert_eq!(request.protocol, InboundProtocol::Http);
            assert_eq!(request.destination.to_string(), "[::1]:22");
        }
        other => panic!("{:?}", other),
    }
    assert_eq!(http.into_rest(), b"SSH-");

    let mut socks = InboundHandshake::default();
    assert!(matches!(socks.feed(&[5]), Ok(Step::Read)));
    assert!(matches!(socks.feed(&[1, 0]), Ok(Step::Send(_))));
    match socks.feed(b"\x05\x01\x00\x03\x01a\x00\x16SSH-") {
        Ok(Step::Done(request)) => {
            assert_eq!(request.protocol, InboundProtocol::Socks5);
            assert_eq!(request.destination.to_string(), "a:22");
        }
        other => panic!("{:?}", other),
    }
    assert_eq!(socks.into_rest(), b"SSH-");

    let mut socks4 = InboundHandshake::default();
    assert!(matches!(socks4.feed(&[4]), Ok(Step::Read)));
    match socks4.feed(b"\x01\x00\x16\x00\x00\x00\x01\x00a\x00SSH-") {
        Ok(Step::Done(request)) => {
            assert_eq!(request.protocol, InboundProtocol::Socks4);
            assert_eq!(request.destination.to_string(), "a:22");
        }
        other => panic!("{:?}", other),
    }
    assert_eq!(socks4.into_rest(), b"SSH-");
}

#[test]
fn a_user_is_required_in_every_protocol() {
    let joe = Credentials::new("joe", Secret::new("x")).unwrap();
    let inbound = DynamicConfig::new(&ProxySelector::new(Route::default()), Some(&joe));
    let feed = |bytes: &[u8]| inbound.handshake(None).feed(bytes);
    match feed(b"CONNECT a:22 HTTP/1.1\r\nProxy-Authorization: Basic am9lOng=\r\n\r\n") {
        Ok(Step::Done(request)) => {
            assert_eq!(request.destination.to_string(), "a:22")
        }
        other => panic!("{:?}", other),
    }
    match feed(b"CONNECT a:22 HTTP/1.1\r\n\r\n") {
        Err(rejection) => {
            assert!(rejection.reply.starts_with(b"HTTP/1.1 407 "))
        }
        other => panic!("{:?}", other),
    }
    assert!(matches!(feed(&[5, 1, 2]), Ok(Step::Send(answer)) if answer == [5, 2]));
    assert!(feed(&[5, 1, 0]).is_err());
    match feed(b"\x04\x01\x00\x16\x7f\x00\x00\x01joe\x00") {
        Err(rejection) => assert_eq!(rejection.reply[..2], [0, 91]),
        other => panic!("{:?}", other),
    }
}

#[test]
fn a_forwarded_request_precedes_later_bytes() {
    let bytes = b"PUT http://a:8/b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe";
    let mut http = InboundHandshake::default();
    let (request, last) = bytes.split_at(bytes.len() - 3);
    assert!(matches!(http.feed(request), Ok(Step::Read)));
    let protocol = match http.feed(last) {
        Ok(Step::Done(request)) => {
            assert_eq!(request.destination.to_string(), "a:8");
            request.protocol
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
    // Regression: a TLS hello has no line end, so ptunnel waited for the handshake timeout.
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
        Ok(Some((response, _))) => response,
        other => panic!("{:?}", other),
    };
    let proxy = Peer::Proxy("10.0.0.1:3128".parse().unwrap());
    let destination = "example.org:22".parse().unwrap();
    let refusal = Refusal::Http(HttpRefusal::new(response, b"", &Secrets::default()));
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
        assert_eq!(
            forwarded.contains("CONNECT only to port 443"),
            is_of_connect
        );
    }
}
