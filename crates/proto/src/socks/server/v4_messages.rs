//! SOCKS4 and 4A: one message.
//!
//! The user id is ignored: the client chooses it, so it proves nothing.

use std::net::Ipv4Addr;

use super::super::is_sign_of_name;
use super::{destination, named, SocksRejection, CONNECT, VERSION_4};
use crate::values::{Host, HostPort};

/// Maximum size of a user id and of a name, in bytes, as in SOCKS5.
pub(super) const MAX_TEXT: usize = 255;

/// Decodes `04 01 PORT ADDRESS USER 00`, followed by `NAME 00` if the address marks a name; returns
/// its length, too, or `None` if it isn't complete.
pub(super) fn request(bytes: &[u8]) -> Result<Option<(HostPort, usize)>, SocksRejection> {
    let (port, ip, rest) = match bytes {
        [version, code, ..] if *code != CONNECT => {
            let (version, code) = (*version, *code);
            return Err(SocksRejection::Command { version, code });
        }
        [_, _, high, low, a, b, c, d, rest @ ..] => (
            u16::from_be_bytes([*high, *low]),
            Ipv4Addr::new(*a, *b, *c, *d),
            rest,
        ),
        _ => return Ok(None),
    };
    let rest = match text_length(rest, SocksRejection::UserId)? {
        None => return Ok(None),
        Some(length) => &rest[length + 1..],
    };
    let (host, rest) = if is_sign_of_name(ip) {
        match text_length(rest, SocksRejection::Name)? {
            None => return Ok(None),
            Some(length) => (named(&rest[..length]), &rest[length + 1..]),
        }
    } else {
        (Ok(Host::Ip(ip.into())), rest)
    };
    let destination = destination(VERSION_4, host, port)?;
    Ok(Some((destination, bytes.len() - rest.len())))
}

/// Returns the length of the text before the first NUL.
///
/// # Errors
///
/// `too_long` if the text exceeds the limit.
fn text_length(bytes: &[u8], too_long: SocksRejection) -> Result<Option<usize>, SocksRejection> {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(length) if length <= MAX_TEXT => Ok(Some(length)),
        None if bytes.len() <= MAX_TEXT => Ok(None),
        _ => Err(too_long),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::{SocksReply, SocksServer};
    use super::*;
    use crate::values::{Credentials, Secret};
    use crate::Step;

    fn server() -> SocksServer {
        SocksServer::new(None)
    }

    /// Encodes a request up to the user id.
    fn asking(port: u16, ip: [u8; 4]) -> Vec<u8> {
        [&[4, 1][..], &port.to_be_bytes(), &ip].concat()
    }

    /// Encodes a request with a name (4A).
    fn asking_for(name: &[u8], port: u16) -> Vec<u8> {
        [&asking(port, [0, 0, 0, 1])[..], b"joe\0", name, b"\0"].concat()
    }

    /// Decodes the bytes in one piece.
    fn decoded(bytes: &[u8]) -> Result<Option<String>, SocksRejection> {
        Ok(match server().feed(bytes)? {
            Step::Done(destination) => Some(destination.to_string()),
            Step::Read => None,
            Step::Send(answer) => panic!("{:?}", answer),
        })
    }

    #[test]
    fn reads_addresses_and_names() {
        let by_address = |ip: [u8; 4], user: &[u8]| [&asking(22, ip)[..], user, b"\0"].concat();
        for (request, destination) in &[
            (by_address([192, 0, 2, 7], b""), "192.0.2.7:22"),
            (by_address([192, 0, 2, 7], b"j\xf6\xff"), "192.0.2.7:22"),
            (by_address([0, 0, 0, 0], b"joe"), "0.0.0.0:22"),
            (by_address([0, 0, 1, 0], b"joe"), "0.0.1.0:22"),
            (by_address([1, 0, 0, 1], b"joe"), "1.0.0.1:22"),
            (asking_for(b"example.org", 443), "example.org:443"),
            (asking_for(b"192.0.2.7", 65_535), "192.0.2.7:65535"),
            (asking_for(b"2001:db8::7", 1), "[2001:db8::7]:1"),
        ] {
            assert_eq!(decoded(request), Ok(Some(destination.to_string())));
        }
        for last in 1..=255 {
            let request = [&asking(22, [0, 0, 0, last])[..], b"\0a\0"].concat();
            assert_eq!(decoded(&request), Ok(Some("a:22".into())));
        }
    }

    /// One piece and two pieces mean the same; the bytes after the request are kept.
    #[test]
    fn a_request_can_be_split_anywhere() {
        let by_address = [&asking(22, [192, 0, 2, 7])[..], b"joe\0"].concat();
        let by_name = asking_for(b"example.org", 22);
        for (request, destination) in &[(by_address, "192.0.2.7:22"), (by_name, "example.org:22")] {
            let bytes = [&request[..], b"\0early\0"].concat();
            for cut in 0..=bytes.len() {
                let mut server = server();
                let (front, back) = bytes.split_at(cut);
                let (step, left) = match server.feed(front).unwrap() {
                    Step::Read => (server.feed(back).unwrap(), &b""[..]),
                    step => (step, back),
                };
                assert_eq!(step, Step::Done(destination.parse().unwrap()));
                let rest = [&server.into_rest()[..], left].concat();
                assert_eq!(rest, b"\0early\0", "cut at {}", cut);
            }
        }
    }

    #[test]
    fn texts_have_a_limit() {
        let user = |count| [&asking(22, [192, 0, 2, 7])[..], &vec![b'x'; count]].concat();
        assert_eq!(decoded(&user(255)), Ok(None));
        let longest = [&user(255)[..], b"\0"].concat();
        assert_eq!(decoded(&longest), Ok(Some("192.0.2.7:22".into())));
        assert_eq!(decoded(&user(256)), Err(SocksRejection::UserId));

        let name = |count| {
            let mut request = asking_for(&vec![b'x'; count], 22);
            request.pop();
            request
        };
        assert_eq!(decoded(&name(255)), Ok(None));
        assert_eq!(decoded(&name(256)), Err(SocksRejection::Name));
        let longest = decoded(&[&name(253)[..], b"\0"].concat()).unwrap();
        assert_eq!(longest.unwrap().len(), 253 + 3);
        let rejection = decoded(&[&name(254)[..], b"\0"].concat()).unwrap_err();
        assert!(
            rejection.to_string().contains("253 characters"),
            "{}",
            rejection
        );
    }

    #[test]
    fn a_rejection_has_a_reply_and_a_reason() {
        for (request, word) in &[
            (vec![4, 2], "BIND"),
            (vec![4, 3, 0], "unknown SOCKS4 command 3"),
            (vec![4, 0], "unknown SOCKS4 command 0"),
            (asking_for(b"", 1), "missing"),
            (asking_for(b"a b", 1), "'a b'"),
            (asking_for(b"-x", 1), "-x"),
            (asking_for(b"a\r\nb", 1), "\\r\\n"),
            (asking_for(b"\xff", 1), "\\xff"),
            (asking_for(b"fe80::1%eth0", 1), "zone id"),
            (asking_for(b"example.org", 0), "example.org has no port"),
            (
                [&asking(0, [192, 0, 2, 7])[..], b"\0"].concat(),
                "192.0.2.7 has no port",
            ),
            ([&asking(1, [9, 9, 9, 9])[..], &[b'x'; 256]].concat(), "255"),
            (asking_for(&[b'x'; 256], 1), "255"),
        ] {
            let rejection = decoded(request).unwrap_err();
            let why = rejection.to_string();
            assert!(why.contains(word), "{}", why);
            assert!(!why.chars().any(char::is_control), "{:?}", why);
            assert_eq!(rejection.reply(), [0, 91, 0, 0, 0, 0, 0, 0]);
        }
    }

    /// Rejected after the first byte: a user id is no authentication.
    #[test]
    fn a_client_that_needs_a_password_is_rejected() {
        for bytes in &[&[4][..], &asking_for(b"example.org", 22)] {
            let joe = Credentials::new("joe", Secret::new("x")).unwrap();
            let rejection = SocksServer::new(Some(Arc::new(joe)))
                .feed(bytes)
                .unwrap_err();
            assert_eq!(rejection, SocksRejection::Password);
            assert_eq!(rejection.reply(), [0, 91, 0, 0, 0, 0, 0, 0]);
        }
    }

    #[test]
    fn a_reply_is_eight_bytes_with_version_0() {
        assert_eq!(SocksReply::Succeeded.encode_4(), [0, 90, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn debug_text_holds_none_of_the_bytes() {
        let mut server = server();
        server
            .feed(b"\x04\x01\x00\x16\x00\x00\x00\x01hunter")
            .unwrap();
        let shown = format!("{:?}", server);
        let hunter = format!("{:?}", b"hunter");
        let hunter = hunter.trim_matches(&['[', ']'][..]);
        assert!(!shown.contains(hunter), "{}", shown);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(pieces in prop::collection::vec(
            prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..24), 0..6)) {
            let mut server = server();
            for piece in &pieces {
                if server.feed(piece).is_err() {
                    break;
                }
            }
        }
    }
}
