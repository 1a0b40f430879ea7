use proptest::prelude::*;

use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex};

use super::super::super::method;
use super::super::{SocksReply, SocksServer};
use super::*;
use crate::auth::LoginFault;
use crate::values::{Credentials, Secret};
use crate::Step;

const GREETING: &[u8] = &[5, 2, 2, 0];

/// In UTF-8, as the credentials are.
const PASSWORD: &[u8] = b"p\xc3\xa4ss:x";

/// Encodes a request (RFC 1928 §4).
fn asking(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
    [&[5, 1, 0, kind][..], address, &port.to_be_bytes()].concat()
}

fn named(name: &str, port: u16) -> Vec<u8> {
    let address = [&[name.len() as u8], name.as_bytes()].concat();
    asking(3, &address, port)
}

fn server() -> SocksServer {
    SocksServer::new(None)
}

/// Returns a server that requires joe's login.
fn server_of_joe() -> SocksServer {
    let joe = Credentials::new("joe", Secret::new("p\u{e4}ss:x")).unwrap();
    SocksServer::new(Some(Arc::new(joe)))
}

fn login_of(user: &[u8], password: &[u8]) -> Vec<u8> {
    let counted = |text: &[u8]| [&[text.len() as u8], text].concat();
    [&[1][..], &counted(user), &counted(password)].concat()
}

/// Feeds a request to a server after the greeting.
fn after_greeting(request: &[u8]) -> Result<Step<HostPort>, SocksRejection> {
    let mut server = server();
    let greeted = server.feed(GREETING);
    assert_eq!(greeted, Ok(Step::Send(vec![5, 0])));
    server.feed(request)
}

#[test]
fn reads_each_kind_of_address() {
    let v6 = "2001:db8::1".parse::<Ipv6Addr>().unwrap().octets();
    for (request, destination) in &[
        (asking(1, &[192, 0, 2, 7], 22), "192.0.2.7:22"),
        (asking(4, &v6, 65_535), "[2001:db8::1]:65535"),
        (named("example.org", 443), "example.org:443"),
        (named("192.0.2.7", 1), "192.0.2.7:1"),
        (named("::1", 1), "[::1]:1"),
    ] {
        let expected = Step::Done(destination.parse().unwrap());
        assert_eq!(after_greeting(request), Ok(expected));
    }
}

/// One piece and two pieces mean the same; the bytes after the request are kept.
#[test]
fn messages_can_be_split_anywhere() {
    let request = [&named("example.org", 22), &b"early"[..]].concat();
    let plain = [GREETING, &request].concat();
    let with_login = [GREETING, &login_of(b"joe", PASSWORD), &request].concat();
    let cases = [
        (plain, false, &[5, 0][..]),
        (with_login, true, &[5, 2, 1, 0]),
    ];
    for (bytes, is_of_joe, answers) in &cases {
        for cut in 0..=bytes.len() {
            let mut server = if *is_of_joe {
                server_of_joe()
            } else {
                server()
            };
            let (front, back) = bytes.split_at(cut);
            let mut pieces = vec![&[][..], &[], back, &[], &[], front];
            let mut sent = Vec::new();
            let destination = loop {
                match server.feed(pieces.pop().unwrap()).unwrap() {
                    Step::Read => {}
                    Step::Send(bytes) => sent.extend(bytes),
                    Step::Done(destination) => break destination,
                }
            };
            assert_eq!(sent, *answers);
            assert_eq!(destination.to_string(), "example.org:22");
            pieces.reverse();
            let rest = [server.into_rest(), pieces.concat()].concat();
            assert_eq!(rest, b"early", "cut at {}", cut);
        }
    }
}

#[test]
fn a_client_must_offer_no_authentication() {
    for greeting in &[&[5, 0][..], &[5, 1, 2], &[5, 2, 1, 2]] {
        let fault = server().feed(greeting).unwrap_err();
        assert_eq!(fault, SocksRejection::Method(method::NO_AUTHENTICATION));
        assert_eq!(fault.reply(), [5, 0xff]);
    }
}

#[test]
fn a_client_must_offer_a_login_if_it_is_required() {
    for greeting in &[&[5, 0][..], &[5, 1, 0], &[5, 2, 1, 0]] {
        let fault = server_of_joe().feed(greeting).unwrap_err();
        assert_eq!(fault, SocksRejection::Method(method::LOGIN));
        assert_eq!(fault.reply(), [5, 0xff]);
    }
}

#[test]
fn only_the_right_login_is_accepted() {
    let logged_in = |login: &[u8]| {
        let mut server = server_of_joe();
        let greeted = server.feed(GREETING);
        assert_eq!(greeted, Ok(Step::Send(vec![5, 2])));
        server.feed(login)
    };
    let right = logged_in(&login_of(b"joe", PASSWORD));
    assert_eq!(right, Ok(Step::Send(vec![1, 0])));
    for (user, password) in &[
        (&b"joe"[..], &b"p\xc3\xa4ss:y"[..]),
        (b"joe", b"p\xe4ss:x"),
        (b"joe", b""),
        (b"jim", PASSWORD),
        (b"", PASSWORD),
        (b"", b""),
        (b"joe:p\xc3\xa4ss", b"x"),
    ] {
        let fault = logged_in(&login_of(user, password)).unwrap_err();
        assert_eq!(fault, SocksRejection::Login(LoginFault::Wrong));
        assert_eq!(fault.reply(), [1, 1]);
    }
    let fault = logged_in(b"\x05").unwrap_err();
    assert_eq!(fault, SocksRejection::LoginVersion(5));
    assert_eq!(fault.reply(), [1, 1]);
    assert_eq!(logged_in(b"\x01\x03joe"), Ok(Step::Read));
}

/// Answers the same to every login.
#[derive(Debug)]
struct Fixed(Mutex<Verdict>);

impl LoginCheck for Fixed {
    fn check(&self, _: &[u8], _: &[u8]) -> Verdict {
        *self.0.lock().unwrap()
    }
}

/// The login isn't read twice, and what came with it is kept.
#[test]
fn a_login_waits_for_its_check() {
    let check = Arc::new(Fixed(Mutex::new(Verdict::Pending)));
    let mut server = SocksServer::new(Some(check.clone()));
    assert_eq!(server.feed(GREETING), Ok(Step::Send(vec![5, 2])));
    let all = [&login_of(b"joe", PASSWORD)[..], &named("a", 22)].concat();
    for piece in &[&all[..], b"", b""] {
        assert_eq!(server.feed(piece), Ok(Step::Read));
    }
    *check.0.lock().unwrap() = Verdict::Accepted;
    assert_eq!(server.feed(b""), Ok(Step::Send(vec![1, 0])));
    assert_eq!(server.feed(b""), Ok(Step::Done("a:22".parse().unwrap())));
    for fault in &[LoginFault::Throttled, LoginFault::Busy] {
        let check = Fixed(Mutex::new(Verdict::Refused(*fault)));
        let mut server = SocksServer::new(Some(Arc::new(check)));
        server.feed(GREETING).unwrap();
        let rejection = server.feed(&all).unwrap_err();
        assert_eq!(rejection.reply(), [1, 1]);
        assert_eq!(Some(&rejection.to_string()[..]), fault.reason());
    }
}

#[test]
fn debug_text_holds_no_password() {
    let mut server = server_of_joe();
    server.feed(GREETING).unwrap();
    server.feed(b"\x01\x03joe\x09hunter").unwrap();
    let shown = format!("{:?}", server);
    let hunter = format!("{:?}", b"hunter");
    assert!(
        !shown.contains(hunter.trim_matches(&['[', ']'][..])),
        "{}",
        shown
    );
    assert!(!shown.contains("ss:x"), "{}", shown);
}

#[test]
fn a_rejection_has_a_reply_and_a_reason() {
    let code = |request: &[u8]| {
        let fault = after_greeting(request).unwrap_err();
        assert_eq!(fault.reply().len(), 10);
        (fault.reply()[1], fault.to_string())
    };
    for (request, expected, word) in &[
        (vec![5, 2], 7, "BIND"),
        (vec![5, 3, 0], 7, "UDP"),
        (vec![5, 9], 7, "9"),
        (vec![5, 1, 0, 2], 8, "2"),
        (vec![4], 1, "version 4"),
        (named("", 1), 1, "missing"),
        (named("a b", 1), 1, "a b"),
        (named("-x", 1), 1, "-x"),
        (named("a\r\nb", 1), 1, "\\r\\n"),
        (named("fe80::1%eth0", 1), 1, "zone id"),
        (asking(3, b"\x01\xff", 1), 1, "\\xff"),
        (named("example.org", 0), 1, "has no port"),
    ] {
        let (reply, why) = code(request);
        assert_eq!(reply, *expected, "{}", why);
        assert!(why.contains(word), "{}", why);
        assert!(!why.chars().any(char::is_control), "{:?}", why);
    }
}

#[test]
fn a_reply_is_ten_bytes() {
    let expected = [5, 5, 0, 1, 0, 0, 0, 0, 0, 0];
    assert_eq!(SocksReply::Refused.encode(), expected);
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(pieces in prop::collection::vec(
        prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..24), 0..6)) {
        for mut server in vec![server(), server_of_joe()] {
            for piece in &pieces {
                if server.feed(piece).is_err() {
                    break;
                }
            }
        }
    }
}
