use proptest::prelude::*;

use super::*;
use crate::socks::client::test_support::{credentials, end, is_cut_well, said};
use crate::values::Schemes;
use crate::Negotiation;

/// Written out byte by byte from RFC 1928 and RFC 1929.
const NO_AUTHENTICATION: &[u8] = b"\x05\x00";
const LOGIN: &[u8] = b"\x05\x02";
const RIGHT: &[u8] = b"\x01\x00";
const GRANTED: &[u8] = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x04\x38";

fn identity(login: Option<(&str, &str)>) -> Option<AuthCache> {
    credentials(login).map(|credentials| AuthCache::new(credentials, Schemes::default()))
}

fn socks(target: &str, login: Option<(&str, &str)>) -> Negotiation {
    Socks5::connect(&target.parse().unwrap(), identity(login)).into()
}

fn joe() -> Negotiation {
    socks("a:1", Some(("joe", "hunter2")))
}

#[test]
fn requests_by_name_and_by_address() {
    let cases: &[(&str, &[u8])] = &[
        ("example.org:22", b"\x05\x01\x00\x03\x0bexample.org\x00\x16"),
        ("192.0.2.7:443", b"\x05\x01\x00\x01\xc0\x00\x02\x07\x01\xbb"),
        (
            "[2001:db8::7]:65535",
            b"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07\xff\xff",
        ),
    ];
    for (target, request) in cases {
        let mut exchange = socks(target, None);
        assert_eq!(exchange.begin(), b"\x05\x01\x00");
        assert_eq!(
            said(&mut exchange, NO_AUTHENTICATION).unwrap(),
            *request,
            "{}",
            target
        );
        let end = said(&mut exchange, &[GRANTED, b"SSH-"].concat());
        assert_eq!(end.unwrap_err(), "granted: SSH-");
    }
    let longest = format!("{}:1", ["a"; 127].join("."));
    let mut exchange = socks(&longest, None);
    exchange.begin();
    assert_eq!(
        said(&mut exchange, NO_AUTHENTICATION).unwrap().len(),
        4 + 1 + 253 + 2
    );
}

#[test]
fn authenticates_if_required() {
    let mut exchange = joe();
    assert_eq!(exchange.begin(), b"\x05\x02\x00\x02");
    let login = said(&mut exchange, LOGIN).unwrap();
    assert_eq!(login, b"\x01\x03joe\x07hunter2");
    for right in &[RIGHT, b"\x05\x00"] {
        let mut exchange = joe();
        exchange.begin();
        said(&mut exchange, LOGIN).unwrap();
        let request = said(&mut exchange, right).unwrap();
        assert_eq!(request, b"\x05\x01\x00\x03\x01a\x00\x01");
    }
    assert_eq!(end(joe(), &[NO_AUTHENTICATION, GRANTED]), "granted: ");
}

#[test]
fn every_reply_can_arrive_byte_by_byte() {
    let named = [&b"\x05\x00\x00\x03\x03"[..], b"abc", b"\x00\x50"].concat();
    let v6 = [&b"\x05\x00\x00\x04"[..], &[0; 18]].concat();
    for last in &[GRANTED, &named, &v6] {
        let mut exchange = joe();
        exchange.begin();
        let mut sent = Vec::new();
        for reply in &[LOGIN, RIGHT, last] {
            for (index, byte) in reply.iter().enumerate() {
                match said(&mut exchange, &[*byte]) {
                    Ok(message) => sent.push(message),
                    Err(word) if index + 1 < reply.len() => assert_eq!(word, "read"),
                    Err(word) => assert_eq!(word, "granted: "),
                }
            }
        }
        assert_eq!(sent.len(), 2);
    }
}

#[test]
fn a_refusal_is_recognized_by_its_code_before_its_end() {
    let cases: &[(&[u8], &str)] = &[
        (b"\x05\x01", "general SOCKS server failure (SOCKS reply 1)"),
        (
            b"\x05\x02\x00",
            "connection not allowed by ruleset (SOCKS reply 2)",
        ),
        (
            b"\x05\x05\x00\x01\0\0\0\0\0\0",
            "connection refused (SOCKS reply 5)",
        ),
        (b"\x05\x5b", "unknown SOCKS reply 91"),
    ];
    for (reply, reason) in cases {
        let text = end(socks("a:1", None), &[NO_AUTHENTICATION, reply]);
        assert_eq!(text, format!("refused it: {}", reason));
    }
    let unknown: &[u8] = b"\x05\x08";
    let by_name = end(socks("a:1", None), &[NO_AUTHENTICATION, unknown]);
    assert!(
        by_name.ends_with("use socks5://, so that ptunnel resolves them"),
        "{}",
        by_name
    );
    let by_address = end(socks("[::1]:1", None), &[NO_AUTHENTICATION, unknown]);
    assert!(
        by_address.ends_with("not supported (SOCKS reply 8)"),
        "{}",
        by_address
    );
}

#[test]
fn a_refused_login_has_its_own_reasons() {
    let none: &[u8] = b"\x05\xff";
    let nameless = end(socks("a:1", None), &[none]);
    assert_eq!(nameless, "refused us: the proxy requires authentication");
    let named = end(joe(), &[none]);
    assert!(named.starts_with("refused us: the proxy requires another authentication method"));
    let wrong = end(joe(), &[LOGIN, b"\x01\x01"]);
    assert!(wrong.starts_with("refused us: the proxy rejected the username or the password"));
}

/// Regression: it was an invalid reply, after which the next proxy is asked.
#[test]
fn a_method_that_was_not_offered_is_a_refusal() {
    for method in &[1, 2, 3, 0x80, 0xfe] {
        let nameless = end(socks("a:1", None), &[&[5, *method]]);
        assert_eq!(nameless, "refused us: the proxy requires authentication");
    }
    let named = end(joe(), &[b"\x05\x01"]);
    assert!(named.starts_with("refused us: the proxy requires another authentication method"));
}

/// Regression: each client sent the password once more, until the account was locked.
#[test]
fn a_refused_password_is_withheld_from_the_next_tunnels() {
    let joe = identity(Some(("joe", "hunter2")));
    let target = "a:1".parse().unwrap();
    let next = || Negotiation::from(Socks5::connect(&target, joe.clone()));
    let mut refused = next();
    assert_eq!(refused.begin(), b"\x05\x02\x00\x02");
    let text = end(refused, &[LOGIN, b"\x01\x01"]);
    assert!(text.contains("rejected the username"), "{}", text);
    let mut withheld = next();
    assert_eq!(withheld.begin(), b"\x05\x01\x00");
    let text = end(withheld, &[b"\x05\xff"]);
    assert!(text.contains("rejected the password before"), "{}", text);
    let text = end(next(), &[LOGIN]);
    assert!(text.contains("rejected the password before"), "{}", text);
    assert_eq!(end(next(), &[NO_AUTHENTICATION, GRANTED]), "granted: ");
}

#[test]
fn other_protocols_are_named() {
    let text = |replies: &[&[u8]]| end(socks("a:1", None), replies);
    assert_eq!(
        text(&[b"HTTP/1.1 400 Bad Request\r\n"]),
        "malformed: HTTP instead of SOCKS; use http://"
    );
    assert_eq!(
        text(&[b"\x00\x5b"]),
        "malformed: SOCKS4 instead of SOCKS5; use socks4a://"
    );
    assert_eq!(
        text(&[b"SSH-2.0-"]),
        "malformed: not SOCKS5 (it begins with 83)"
    );
    assert!(text(&[NO_AUTHENTICATION, b"\x05\x00\x00\x02"]).contains("address type 2"));
    let ahead = [NO_AUTHENTICATION, GRANTED].concat();
    assert!(text(&[&ahead]).contains("unexpected bytes after the reply"));
}

#[test]
fn debug_text_holds_no_password() {
    let shown = format!("{:?}", joe());
    assert!(!shown.contains("hunter2"), "{}", shown);
}

proptest! {
    #[test]
    fn the_last_reply_can_be_split_anywhere(
        kind in 0..6_u8,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0..300_usize,
    ) {
        let whole = [&[VERSION, SUCCEEDED, 0, kind][..], &bytes].concat();
        let asking = || {
            let mut exchange = socks("a:1", None);
            exchange.begin();
            said(&mut exchange, NO_AUTHENTICATION).unwrap();
            exchange
        };
        prop_assert!(is_cut_well(asking, &whole, cut));
    }

    #[test]
    fn no_bytes_cause_a_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..6)) {
        let mut exchange = joe();
        exchange.begin();
        for piece in pieces {
            match exchange.feed(&piece) {
                Ok(NegotiationStep::Read) | Ok(NegotiationStep::Send(_)) => {}
                _ => break,
            }
        }
    }
}
