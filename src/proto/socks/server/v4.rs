//! SOCKS4 and 4A: one message, and one reply.
//!
//! ```text
//!   04 01 PORT ADDRESS USER 00 ─────────▶ the destination, and finally a Socks4Reply
//!      └──▶ 00 5B           └──NAME 00────▲
//! ```
//!
//! The user id is ignored: the client chooses it, so it proves nothing.

use std::error;
use std::fmt;
use std::net::Ipv4Addr;

use super::super::{is_sign_of_name, reply_4, CONNECT};
use super::{destination, named};
use crate::config::{Host, HostPort};
use crate::proto::Decoded;

/// Maximum size of a user id and of a name, in bytes, as in SOCKS5.
const MAX_TEXT: usize = 255;

/// `CD` of a reply. The other two codes are about identd, which ptunnel doesn't ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Socks4Reply {
    /// The tunnel is open.
    Granted = reply_4::GRANTED,
    /// There is no tunnel, for any reason.
    Rejected = reply_4::REJECTED,
}

impl Socks4Reply {
    /// Encodes the reply. Its address is 0.0.0.0:0.
    pub fn encode(self) -> Vec<u8> {
        let mut reply = vec![0; reply_4::LENGTH];
        reply[0] = reply_4::VERSION;
        reply[1] = self as u8;
        reply
    }
}

/// Why a client can't be served. Displays as the reason, with the client as its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks4Rejection {
    /// The client must have a password, which SOCKS4 can't send.
    Password,
    /// The request has this command instead of CONNECT.
    Command(u8),
    /// The user id has more than 255 bytes.
    UserId,
    /// The destination's name has more than 255 bytes.
    Name,
    /// The destination is invalid, for this reason.
    Destination(String),
}

impl Socks4Rejection {
    /// Encodes the reply to the client.
    pub fn reply(&self) -> Vec<u8> {
        Socks4Reply::Rejected.encode()
    }
}

impl fmt::Display for Socks4Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socks4Rejection::Password => {
                f.write_str("SOCKS4 has no password, and one is wanted: SOCKS5 and HTTP have it")
            }
            Socks4Rejection::Command(2) => f.write_str("SOCKS4's BIND isn't served, CONNECT alone"),
            Socks4Rejection::Command(code) => write!(f, "SOCKS4 has no command {}", code),
            Socks4Rejection::UserId => {
                write!(f, "its SOCKS4 user id has more than {} bytes", MAX_TEXT)
            }
            Socks4Rejection::Name => write!(
                f,
                "the name in its SOCKS4 request has more than {} bytes",
                MAX_TEXT
            ),
            Socks4Rejection::Destination(why) => f.write_str(why),
        }
    }
}

impl error::Error for Socks4Rejection {}

/// The request of one client, as far as it has arrived.
pub struct Socks4Server {
    bytes: Vec<u8>,
    wants_password: bool,
}

impl fmt::Debug for Socks4Server {
    /// Shows the number of bytes only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socks4Server")
            .field("bytes", &self.bytes.len())
            .field("wants_password", &self.wants_password)
            .finish()
    }
}

impl Socks4Server {
    /// Returns the state before the request. A client that must have a password is always rejected.
    pub fn new(wants_password: bool) -> Socks4Server {
        Socks4Server {
            bytes: Vec::new(),
            wants_password,
        }
    }

    /// Adds bytes from the client; returns the destination once the request is complete.
    ///
    /// # Errors
    ///
    /// [`Socks4Rejection`] if the client can't be served, as early as possible.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Option<HostPort>, Socks4Rejection> {
        if self.wants_password {
            return Err(Socks4Rejection::Password);
        }
        self.bytes.extend_from_slice(piece);
        Ok(match request(&self.bytes)? {
            Decoded::Partial => None,
            Decoded::Complete(destination, length) => {
                self.bytes.drain(..length);
                Some(destination)
            }
        })
    }

    /// Returns the bytes that followed the request.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// Decodes `04 01 PORT ADDRESS USER 00`, followed by `NAME 00` if the address says so.
fn request(bytes: &[u8]) -> Result<Decoded<HostPort>, Socks4Rejection> {
    match bytes {
        [_, command, ..] if *command != CONNECT => return Err(Socks4Rejection::Command(*command)),
        _ => {}
    }
    let (port, ip, rest) = match bytes {
        [_, _, high, low, a, b, c, d, rest @ ..] => (
            u16::from_be_bytes([*high, *low]),
            Ipv4Addr::new(*a, *b, *c, *d),
            rest,
        ),
        _ => return Ok(Decoded::Partial),
    };
    let rest = match terminated(rest).ok_or(Socks4Rejection::UserId)? {
        Decoded::Partial => return Ok(Decoded::Partial),
        Decoded::Complete(_, length) => &rest[length..],
    };
    let (host, rest) = if is_sign_of_name(ip) {
        match terminated(rest).ok_or(Socks4Rejection::Name)? {
            Decoded::Partial => return Ok(Decoded::Partial),
            Decoded::Complete(name, length) => (named(name), &rest[length..]),
        }
    } else {
        (Ok(Host::Ip(ip.into())), rest)
    };
    let destination = host.and_then(|host| destination(host, port));
    let destination = destination.map_err(Socks4Rejection::Destination)?;
    Ok(Decoded::Complete(destination, bytes.len() - rest.len()))
}

/// Decodes the text before the first NUL; `None` if it is too long.
fn terminated(bytes: &[u8]) -> Option<Decoded<&[u8]>> {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(end) if end <= MAX_TEXT => Some(Decoded::Complete(&bytes[..end], end + 1)),
        None if bytes.len() <= MAX_TEXT => Some(Decoded::Partial),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes a request up to the user id.
    fn asking(port: u16, ip: [u8; 4]) -> Vec<u8> {
        [&[4, 1][..], &port.to_be_bytes(), &ip].concat()
    }

    /// Encodes a request with a name (4A).
    fn asking_for(name: &[u8], port: u16) -> Vec<u8> {
        [&asking(port, [0, 0, 0, 1])[..], b"joe\0", name, b"\0"].concat()
    }

    /// Decodes the bytes in one piece.
    fn decoded(bytes: &[u8]) -> Result<Option<String>, Socks4Rejection> {
        let destination = Socks4Server::new(false).feed(bytes);
        destination.map(|destination| destination.map(|it| it.to_string()))
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
    fn how_it_is_cut_makes_no_difference() {
        let by_address = [&asking(22, [192, 0, 2, 7])[..], b"joe\0"].concat();
        let by_name = asking_for(b"example.org", 22);
        for (request, destination) in &[(by_address, "192.0.2.7:22"), (by_name, "example.org:22")] {
            let bytes = [&request[..], b"\0early\0"].concat();
            for cut in 0..=bytes.len() {
                let mut server = Socks4Server::new(false);
                let (front, back) = bytes.split_at(cut);
                let (decoded, left) = match server.feed(front).unwrap() {
                    Some(destination) => (destination, back),
                    None => (server.feed(back).unwrap().unwrap(), &b""[..]),
                };
                assert_eq!(decoded.to_string(), *destination);
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
        assert_eq!(decoded(&user(256)), Err(Socks4Rejection::UserId));

        let name = |count| {
            let mut request = asking_for(&vec![b'x'; count], 22);
            request.pop();
            request
        };
        assert_eq!(decoded(&name(255)), Ok(None));
        assert_eq!(decoded(&name(256)), Err(Socks4Rejection::Name));
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
            (vec![4, 3, 0], "no command 3"),
            (vec![4, 0], "no command 0"),
            (asking_for(b"", 1), "missing"),
            (asking_for(b"a b", 1), "'a b'"),
            (asking_for(b"-x", 1), "-x"),
            (asking_for(b"a\r\nb", 1), "\\r\\n"),
            (asking_for(b"\xff", 1), "\\xff"),
            (asking_for(b"fe80::1%eth0", 1), "zone id"),
            (asking_for(b"example.org", 0), "example.org without a port"),
            (
                [&asking(0, [192, 0, 2, 7])[..], b"\0"].concat(),
                "192.0.2.7 without a port",
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

    /// After the first byte: a user id is no authentication.
    #[test]
    fn a_client_that_needs_a_password_is_rejected() {
        for bytes in &[&[4][..], &asking_for(b"example.org", 22)] {
            let rejection = Socks4Server::new(true).feed(bytes).unwrap_err();
            assert_eq!(rejection, Socks4Rejection::Password);
            assert_eq!(rejection.reply(), [0, 91, 0, 0, 0, 0, 0, 0]);
        }
    }

    #[test]
    fn a_reply_is_eight_bytes_with_version_0() {
        assert_eq!(Socks4Reply::Granted.encode(), [0, 90, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn debug_text_holds_none_of_the_bytes() {
        let mut server = Socks4Server::new(false);
        server
            .feed(b"\x04\x01\x00\x16\x00\x00\x00\x01hunter")
            .unwrap();
        let shown = format!("{:?}", server);
        let hunter = format!("{:?}", b"hunter");
        let hunter = hunter.trim_matches(&['[', ']'][..]);
        assert!(!shown.contains(hunter), "{}", shown);
        assert!(shown.contains("14"), "{}", shown);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(
            prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..24), 0..6)) {
            let mut server = Socks4Server::new(false);
            for piece in &pieces {
                if server.feed(piece).is_err() {
                    break;
                }
            }
        }
    }
}
