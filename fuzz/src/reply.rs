//! The head of a proxy's reply, or the reply of a SOCKS proxy, and how it is judged; the reply to a
//! GET.

use ptunnel_proto::auth::AuthCache;
use ptunnel_proto::values::{Credentials, HostPort, Schemes, Secret};
use ptunnel_proto::{ConnectHead, Negotiation, NegotiationStep, Socks4, Socks5};
use ptunnel_proto::{Download, DownloadError};
use ptunnel_proto::{HttpRefusal, Request, Response, Secrets, StatusClass, HEAD_LIMIT};

pub fn check(bytes: &[u8]) {
    answered_by_socks5(bytes);
    answered_by_socks4(bytes);
    downloaded(bytes);
    let (response, length) = match crate::head(bytes, Response::decode) {
        Some(whole) => whole,
        None => return,
    };
    let (minor, status, reason) = crate::status_line(&bytes[..length]);
    let read = (minor != b'0', status, &reason);
    assert_eq!(
        read,
        (response.is_modern, response.status, &response.reason)
    );
    let verdict = match response.status {
        101 => StatusClass::Refused,
        100..=199 => StatusClass::Interim,
        200..=299 => StatusClass::Granted,
        _ => StatusClass::Refused,
    };
    assert_eq!(response.status_class(), verdict);

    let ends_line = |b: &u8| b"\r\n\0".contains(b);
    assert!(
        !response.reason.iter().any(ends_line),
        "{:?}",
        response.reason
    );
    answered(bytes);
    let mut secrets = Secrets::default();
    secrets.add_credentials(&joe());
    let refusal = HttpRefusal::new(response, &bytes[length..], &secrets);
    // Without those that have contained a secret.
    let mut schemes = refusal.schemes();
    schemes.retain(|scheme| !scheme.contains("***"));
    for (index, scheme) in schemes.iter().enumerate() {
        assert!(
            scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-'),
            "{scheme:?}"
        );
        let before = &schemes[..index];
        assert!(
            !before
                .iter()
                .any(|other| other.eq_ignore_ascii_case(scheme)),
            "{scheme:?}"
        );
    }

    let told = refusal.to_string();
    crate::shown(&told);
    assert!(!told.to_ascii_lowercase().contains("hunter2"), "{told}");
    assert!(
        told.len() <= 2 * HEAD_LIMIT,
        "{} bytes to be shown",
        told.len()
    );
}

/// The content is the same however the reply is cut, and never longer than its limit.
fn downloaded(bytes: &[u8]) {
    const LIMIT: usize = 64;
    let content = |size: usize| -> Result<Vec<u8>, DownloadError> {
        let mut download = Download::new(LIMIT, Secrets::default());
        for piece in bytes.chunks(size).chain(Some(&[][..])) {
            if download.feed(piece)? {
                break;
            }
        }
        Ok(download.into_content())
    };
    match (content(bytes.len().max(1)), content(1 + bytes.len() / 64)) {
        (Ok(whole), Ok(pieces)) => assert!(whole == pieces && whole.len() <= LIMIT),
        (Err(error), Err(_)) => crate::shown(&error.to_string()),
        (whole, pieces) => panic!("{whole:?}, {pieces:?}"),
    }
}

/// Whatever a proxy asks, and however its words are cut: what it gets is one request for the same
/// destination.
fn answered(bytes: &[u8]) {
    for size in [bytes.len().max(1), 1 + bytes.len() / 64] {
        let identity = AuthCache::new(joe(), Schemes::default());
        let mut exchange = Negotiation::new(Request::connect(&destination()), Some(identity));
        let mut pieces = bytes.chunks(size);
        exchange.begin();
        while let Some(Ok(step)) = pieces.next().map(|piece| exchange.feed(piece)) {
            match step {
                NegotiationStep::Read => {}
                NegotiationStep::Send(request) => ours(&request),
                NegotiationStep::Redial => ours(&exchange.begin()),
                NegotiationStep::Granted(_) | NegotiationStep::Refused(_) => break,
            }
        }
    }
}

/// The same of a SOCKS5 proxy: it gets the credentials, once, and one request.
fn answered_by_socks5(bytes: &[u8]) {
    for size in [bytes.len().max(1), 1 + bytes.len() / 64] {
        let identity = AuthCache::new(joe(), Schemes::default());
        let mut exchange = Negotiation::from(Socks5::connect(&destination(), Some(identity)));
        let mut messages = vec![exchange.begin()];
        for piece in bytes.chunks(size) {
            match exchange.feed(piece) {
                Ok(NegotiationStep::Read) => {}
                Ok(NegotiationStep::Send(message)) => messages.push(message),
                Ok(NegotiationStep::Redial) => panic!("nothing is answered on another connection"),
                Ok(NegotiationStep::Refused(refusal)) => {
                    crate::shown(&refusal.to_string());
                    break;
                }
                Ok(NegotiationStep::Granted(rest)) => {
                    assert_eq!(messages.last().map(Vec::as_slice), Some(REQUEST));
                    assert!(bytes.len() >= rest.len() + SHORTEST);
                    break;
                }
                Err(why) => {
                    crate::shown(&why.to_string());
                    break;
                }
            }
        }
        let right: [&[&[u8]]; 4] = [
            &[GREETING],
            &[GREETING, REQUEST],
            &[GREETING, LOGIN],
            &[GREETING, LOGIN, REQUEST],
        ];
        assert!(right.contains(&&messages.iter().map(Vec::as_slice).collect::<Vec<_>>()[..]));
    }
}

const GREETING: &[u8] = b"\x05\x02\x00\x02";
const LOGIN: &[u8] = b"\x01\x03joe\x07hunter2";
const REQUEST: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x00\x16";

/// A choice, and a reply with an empty name.
const SHORTEST: usize = 2 + 7;

/// A SOCKS4 proxy gets one message, and what its reply comes to is what a second reading, of all
/// that has come, makes of it.
fn answered_by_socks4(bytes: &[u8]) {
    for size in [bytes.len().max(1), 1 + bytes.len() / 64] {
        let mut exchange = Negotiation::from(Socks4::connect(&destination(), Some(joe())));
        assert_eq!(exchange.begin(), REQUEST_4);
        let mut come = 0;
        for piece in bytes.chunks(size) {
            come += piece.len();
            let (step, said) = (exchange.feed(piece), &bytes[..come]);
            match (step, said[0], said.get(1)) {
                (Err(why), start, _) if start != 0 && start != 4 => {
                    crate::shown(&why.to_string());
                    break;
                }
                (Ok(NegotiationStep::Read), 0 | 4, None) => {}
                (Ok(NegotiationStep::Read), 0 | 4, Some(90)) if come < 8 => {}
                (Ok(NegotiationStep::Granted(rest)), 0 | 4, Some(90)) => {
                    assert_eq!(Some(&rest[..]), said.get(8..));
                    break;
                }
                (Ok(NegotiationStep::Refused(refusal)), 0 | 4, Some(code)) if *code != 90 => {
                    crate::shown(&refusal.to_string());
                    break;
                }
                _ => panic!("{said:?} is taken for something else"),
            }
        }
    }
}

const REQUEST_4: &[u8] = b"\x04\x01\x00\x16\x00\x00\x00\x01joe\x00example.org\x00";

fn joe() -> Credentials {
    Credentials::new("joe", Secret::new("hunter2")).expect("credentials")
}

fn ours(request: &[u8]) {
    match ConnectHead::decode(request, usize::MAX) {
        Ok(Some((inbound, length))) if length == request.len() => {
            assert_eq!(inbound.target, destination().to_string());
        }
        other => panic!("{other:?} of {:?}", String::from_utf8_lossy(request)),
    }
}

fn destination() -> HostPort {
    "example.org:22".parse().expect("a destination")
}
