use proptest::prelude::*;

use super::*;

/// A request for `name`, as curl writes it.
const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: www.example.org:8080\r\nUser-Agent: curl/7.88.1\r\n\r\nbehind";

/// Returns what a reader finds in the bytes, in pieces of this size at most.
fn found_in(bytes: &[u8], size: usize) -> Result<Option<Host>, NoServerName> {
    let mut reader = ServerNameReader::default();
    let mut found = bytes.chunks(size).map(|piece| reader.extend(piece));
    let found = found.find(|found| *found != Ok(None)).unwrap_or(Ok(None));
    if found == Ok(None) {
        assert_eq!(reader.into_bytes(), bytes);
    }
    found
}

fn server_name(bytes: &[u8]) -> Result<Option<Host>, NoServerName> {
    let found = found_in(bytes, bytes.len().max(1));
    assert_eq!(found, found_in(bytes, 1), "{:?}", bytes);
    found
}

fn named(name: &str) -> Result<Option<Host>, NoServerName> {
    Ok(Some(Host::Name(name.into())))
}

/// Checks that every prefix shorter than `length` needs more bytes, and that all others have `name`.
fn check_prefixes(bytes: &[u8], length: usize, name: &str) {
    for end in 0..=bytes.len() {
        let expected = if end < length { Ok(None) } else { named(name) };
        assert_eq!(server_name(&bytes[..end]), expected, "{} bytes", end);
    }
}

#[test]
fn a_request_has_the_name_when_its_head_is_complete() {
    check_prefixes(REQUEST, REQUEST.len() - b"behind".len(), "www.example.org");
    let options = b"OPTIONS * HTTP/1.0\nhost:a\n\n";
    assert_eq!(server_name(options), named("a"));
}

#[test]
fn a_request_to_a_proxy_has_no_server_name() {
    for request in &[
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
    ] {
        assert_eq!(server_name(request.as_bytes()), Err(NoServerName));
    }
}

#[test]
fn an_address_is_not_a_name() {
    for host in &["192.0.2.1", "192.0.2.1:80", "[2001:db8::1]", "[::1]:80"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host);
        assert_eq!(server_name(request.as_bytes()), Err(NoServerName));
    }
    assert_eq!(server_name(&tls::hello("192.0.2.1")), Err(NoServerName));
}

#[test]
fn a_name_that_cannot_be_part_of_a_request_is_none() {
    for host in &["", "a b", "a/b", "-x", "m\u{fc}nchen.example"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host);
        let found = server_name(request.as_bytes());
        assert_eq!(found, Err(NoServerName), "{}", host);
    }
    let twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    assert_eq!(server_name(twice), Err(NoServerName));
    assert_eq!(server_name(b"GET / HTTP/1.1\r\n\r\n"), Err(NoServerName));
}

/// Such a client must not wait for the end of a limit.
#[test]
fn other_protocols_are_recognized_by_their_first_line() {
    for line in &[
        "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
        "EHLO client.example\r\n",
        "PING\r\n",
        "*1\r\n",
        "NICK joe\r\n",
        "PRI * HTTP/2.0\r\n",
        "\0\0\0\u{8}\u{4}\u{d2}\u{16}/", // PostgreSQL's SSLRequest
        "\u{15}\u{3}\u{1}\0\u{2}",       // a TLS alert
    ] {
        let found = server_name(line.as_bytes());
        assert_eq!(found, Err(NoServerName), "{:?}", line);
    }
}

#[test]
fn no_more_than_the_limit_is_awaited() {
    let endless = [b"GET / HTTP/1.1\r\nA: ", &[b'a'; HEAD_LIMIT][..]].concat();
    assert_eq!(server_name(&endless[..HEAD_LIMIT - 1]), Ok(None));
    assert_eq!(server_name(&endless), Err(NoServerName));
    let byte_wise = [&[22, 3, 1, 0, 1, 1][..], &[22, 3, 1, 0, 1, 0].repeat(9_000)].concat();
    assert_eq!(server_name(&byte_wise[..18]), Ok(None));
    assert_eq!(server_name(&byte_wise[..HEAD_LIMIT]), Err(NoServerName));
    let too_long = [22, 3, 1, 0, 4, 1, 0, 0x40, 1];
    assert_eq!(server_name(&too_long), Err(NoServerName));
}

/// ClientHellos of OpenSSL.
mod tls {
    use std::io::{self, Read, Write};

    use openssl::ssl::{HandshakeError, SslConnector, SslMethod, SslVersion};

    use super::*;

    /// A server that never replies.
    #[derive(Debug, Default)]
    struct Silent {
        received: Vec<u8>,
    }

    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    impl Write for Silent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.received.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the first flight of a client; an address becomes no SNI.
    pub(super) fn hello(name: &str) -> Vec<u8> {
        hello_of(name, SslVersion::TLS1_3)
    }

    fn hello_of(name: &str, version: SslVersion) -> Vec<u8> {
        let mut connector = SslConnector::builder(SslMethod::tls()).unwrap();
        connector.set_max_proto_version(Some(version)).unwrap();
        connector.set_alpn_protos(b"\x02h2\x08http/1.1").unwrap();
        let connector = connector.build();
        match connector.connect(name, Silent::default()) {
            Err(HandshakeError::WouldBlock(handshake)) => handshake.get_ref().received.clone(),
            other => panic!("{:?}", other),
        }
    }

    /// Splits the message of one record into records of `size` bytes.
    fn split(hello: &[u8], size: usize) -> Vec<u8> {
        let fragments = hello[5..].chunks(size);
        let records = fragments.map(|fragment| {
            let length = (fragment.len() as u16).to_be_bytes();
            [&[22, 3, 1], &length[..], fragment].concat()
        });
        records.flatten().collect()
    }

    #[test]
    fn a_client_hello_has_the_name_when_it_is_complete() {
        for version in &[SslVersion::TLS1_2, SslVersion::TLS1_3] {
            let hello = hello_of("www.example.org", *version);
            let behind = [&hello[..], b"\x14\x03\x03\0\x01\x01"].concat();
            check_prefixes(&behind, hello.len(), "www.example.org");
        }
    }

    #[test]
    fn a_client_hello_can_be_split_over_records() {
        let hello = hello("www.example.org");
        for size in &[1, 2, 3, 4, 5, 100, hello.len() - 6] {
            let records = split(&hello, *size);
            check_prefixes(&records, records.len(), "www.example.org");
        }
    }

    #[test]
    fn a_broken_client_hello_has_no_name() {
        let whole = hello("www.example.org");
        assert_eq!(server_name(&hello("[2001:db8::1]")), Err(NoServerName));
        // Another version, an empty record, one that is too long, another message.
        for (index, byte) in &[(1, 2), (3, 0x80), (5, 2)] {
            let mut broken = whole.clone();
            broken[*index] = *byte;
            assert_eq!(server_name(&broken), Err(NoServerName), "{}", index);
        }
        assert_eq!(server_name(&[22, 3, 1, 0, 0]), Err(NoServerName));
        // A length inside that is longer than the message: that of the session ID.
        let mut broken = whole;
        broken[5 + 4 + 2 + 32] = 255;
        assert_eq!(server_name(&broken), Err(NoServerName));
    }

    proptest! {
        #[test]
        fn no_byte_causes_a_panic_or_another_name(index in 0..200_usize, byte in any::<u8>()) {
            let mut hello = hello("www.example.org");
            hello[index] = byte;
            if let Ok(Some(name)) = server_name(&hello) {
                prop_assert!(name.to_string().len() <= 253);
            }
        }
    }
}

/// Regression: a byte that no request has was noticed at once, or at the end of its line if it came alone.
#[test]
fn the_pieces_of_a_line_change_nothing() {
    for bytes in &["# !!!!!!!!!!!!! \0", "GET / HTTP/1.1\r\n\0", "GET /\0"] {
        server_name(bytes.as_bytes()).ok();
    }
}

proptest! {
    #[test]
    fn what_is_found_stays_when_bytes_follow(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        tls in any::<bool>(),
    ) {
        let bytes = if tls { [&[22, 3, 1, 0, 200, 1, 0, 0, 190], &bytes[..]].concat() } else { bytes };
        let whole = server_name(&bytes);
        for end in 0..bytes.len() {
            let found = server_name(&bytes[..end]);
            prop_assert!(found == Ok(None) || found == whole);
        }
    }
}
