//! SOCKS4 and 4A in one message, which holds the user id, and a reply of eight bytes.

use std::mem;
use std::net::{IpAddr, Ipv4Addr};

use super::super::{is_sign_of_name, reply_4, CONNECT, VERSION_4};
use super::{refused, SocksError};
use crate::values::{unmap_ipv4, Credentials, Host, HostPort};
use crate::{AuthMethod, Malformed, NegotiationStep, SocksRefusal};

/// The address of a request with a name (4A).
const SIGN_OF_NAME: Ipv4Addr = Ipv4Addr::new(0, 0, 0, 1);

/// Negotiation with a SOCKS4 proxy.
///
/// ```text
///   begin ──▶ request ──90──▶ Granted, with the bytes after the reply
///                └──any other code──▶ Refused
/// ```
///
/// An IPv4 address, also an IPv4-mapped one, is sent as an address, which every version
/// understands. Any other host is sent as a name, which needs 4A.
#[derive(Debug)]
pub struct Socks4 {
    target: HostPort,
    /// The user id; the password isn't sent.
    credentials: Option<Credentials>,
    /// The received part of the reply.
    reply: Vec<u8>,
}

impl Socks4 {
    /// Requests a tunnel to `target`, with the username of `credentials` as the user id.
    pub fn connect(target: &HostPort, credentials: Option<Credentials>) -> Socks4 {
        Socks4 {
            target: target.clone(),
            credentials,
            reply: Vec::new(),
        }
    }

    pub(crate) fn begin(&mut self) -> Vec<u8> {
        self.reply.clear();
        let user = self.credentials.as_ref().map_or("", Credentials::user);
        let address = self.address();
        let mut message = vec![VERSION_4, CONNECT];
        message.extend_from_slice(&self.target.port.to_be_bytes());
        message.extend_from_slice(&address.unwrap_or(SIGN_OF_NAME).octets());
        push_terminated(&mut message, user);
        if address.is_none() {
            push_terminated(&mut message, &self.name());
        }
        message
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        self.reply.extend_from_slice(piece);
        match (self.reply.first().copied(), self.reply.get(1).copied()) {
            // Some proxies write 4 as the version of a reply, which is 0.
            (Some(byte), _) if byte != reply_4::VERSION && byte != VERSION_4 => {
                let version = VERSION_4;
                Err(SocksError::Start { version, byte }.into())
            }
            (_, None) => Ok(NegotiationStep::Read),
            (_, Some(reply_4::GRANTED)) => Ok(self.granted()),
            (_, Some(code)) => Ok(refused(SocksRefusal::Reply4 {
                code,
                by_name: self.address().is_none(),
            })),
        }
    }

    pub(crate) fn auth_method(&self) -> Option<AuthMethod> {
        self.credentials.as_ref().map(|_| AuthMethod::UserId)
    }

    fn granted(&mut self) -> NegotiationStep {
        if self.reply.len() < reply_4::LENGTH {
            return NegotiationStep::Read;
        }
        let mut reply = mem::take(&mut self.reply);
        NegotiationStep::Granted(reply.split_off(reply_4::LENGTH))
    }

    /// Returns the address of the target, unless the request needs a name.
    fn address(&self) -> Option<Ipv4Addr> {
        match self.target.host {
            Host::Ip(ip) => match unmap_ipv4(ip) {
                IpAddr::V4(ip) if !is_sign_of_name(ip) => Some(ip),
                _ => None,
            },
            Host::Name(_) => None,
        }
    }

    /// Returns the name in the request. Many proxies accept the text of an IPv6 address.
    fn name(&self) -> String {
        match &self.target.host {
            Host::Name(name) => name.clone(),
            Host::Ip(ip) => unmap_ipv4(*ip).to_string(),
        }
    }
}

/// Appends the text and a NUL. `config` accepts no username and no name with a NUL.
fn push_terminated(message: &mut Vec<u8>, text: &str) {
    debug_assert!(!text.contains('\0'));
    message.extend_from_slice(text.as_bytes());
    message.push(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::socks::client::test_support::{credentials, end, is_cut_well, said};
    use crate::Negotiation;

    const GRANTED: &[u8] = b"\x00\x5a\x04\x38\x7f\x00\x00\x01";

    fn socks(target: &str, user: Option<&str>) -> Negotiation {
        let login = user.map(|user| (user, "hunter2"));
        Socks4::connect(&target.parse().unwrap(), credentials(login)).into()
    }

    /// Written out byte by byte from the two descriptions.
    #[test]
    fn requests_by_address_and_by_name() {
        let cases: &[(&str, Option<&str>, &[u8])] = &[
            (
                "192.0.2.7:443",
                None,
                b"\x04\x01\x01\xbb\xc0\x00\x02\x07\x00",
            ),
            (
                "192.0.2.7:443",
                Some("joe"),
                b"\x04\x01\x01\xbb\xc0\x00\x02\x07joe\x00",
            ),
            (
                "example.org:22",
                None,
                b"\x04\x01\x00\x16\x00\x00\x00\x01\x00example.org\x00",
            ),
            (
                "example.org:65535",
                Some("j\u{f6}"),
                b"\x04\x01\xff\xff\x00\x00\x00\x01j\xc3\xb6\x00example.org\x00",
            ),
            (
                "[::ffff:192.0.2.7]:443",
                None,
                b"\x04\x01\x01\xbb\xc0\x00\x02\x07\x00",
            ),
            (
                "[2001:db8::7]:22",
                Some(""),
                b"\x04\x01\x00\x16\x00\x00\x00\x01\x002001:db8::7\x00",
            ),
        ];
        for (target, user, request) in cases {
            let mut exchange = socks(target, *user);
            // The same bytes on another connection.
            assert_eq!(exchange.begin(), *request, "{}", target);
            assert_eq!(exchange.begin(), *request, "{}", target);
            let end = said(&mut exchange, &[GRANTED, b"SSH-"].concat());
            assert_eq!(end.unwrap_err(), "granted: SSH-");
        }
    }

    /// Otherwise the proxy would wait for a name.
    #[test]
    fn an_address_that_marks_a_name_is_sent_as_a_name() {
        for target in &["0.0.0.7:22", "[::ffff:0.0.0.7]:22"] {
            assert_eq!(
                socks(target, None).begin(),
                b"\x04\x01\x00\x16\x00\x00\x00\x01\x000.0.0.7\x00"
            );
        }
        for (address, octets) in &[("0.0.0.0", [0, 0, 0, 0]), ("0.0.1.0", [0, 0, 1, 0])] {
            let request = socks(&format!("{}:22", address), None).begin();
            assert_eq!(request[4..], [&octets[..], &[0]].concat()[..]);
        }
    }

    #[test]
    fn a_reply_can_arrive_byte_by_byte() {
        let mut exchange = socks("a:1", None);
        exchange.begin();
        let (last, before) = GRANTED.split_last().unwrap();
        for byte in before {
            assert_eq!(said(&mut exchange, &[*byte]).unwrap_err(), "read");
        }
        assert_eq!(said(&mut exchange, &[*last]).unwrap_err(), "granted: ");
    }

    #[test]
    fn a_refusal_is_recognized_by_its_code_before_its_end() {
        let rejected: &[u8] = b"\x00\x5b";
        assert_eq!(
            end(socks("192.0.2.7:1", None), &[rejected]),
            "refused it: request rejected or failed (SOCKS reply 91)"
        );
        let by_name = end(socks("a:1", None), &[rejected]);
        assert!(
            by_name.ends_with("use socks4://, so that ptunnel resolves them"),
            "{}",
            by_name
        );
        let unknown = end(socks("a:1", None), &[b"\x00\x00\0\0\0\0\0\0"]);
        assert_eq!(unknown, "refused it: unknown SOCKS reply 0");
    }

    /// Regression: it was an invalid reply, after which the next proxy is asked.
    #[test]
    fn the_version_of_a_reply_can_be_that_of_the_request() {
        let refused = end(socks("192.0.2.7:1", None), &[b"\x04\x5b"]);
        assert!(
            refused.starts_with("refused it: request rejected"),
            "{}",
            refused
        );
        let granted = [&[VERSION_4][..], &GRANTED[1..], b"SSH-"].concat();
        assert_eq!(end(socks("a:1", None), &[&granted]), "granted: SSH-");
    }

    #[test]
    fn a_refusal_because_of_identd_has_advice() {
        let none = end(socks("a:1", Some("joe")), &[b"\x00\x5c"]);
        let expected =
            "refused it: the proxy can't reach identd on this machine (SOCKS reply 92); ";
        assert!(none.starts_with(expected), "{}", none);
        let other = end(socks("a:1", Some("joe")), &[b"\x00\x5d"]);
        assert!(other.starts_with("refused us: identd"), "{}", other);
    }

    #[test]
    fn other_protocols_are_named() {
        let text = |reply: &[u8]| end(socks("a:1", None), &[reply]);
        assert_eq!(
            text(b"HTTP/1.1 400 Bad Request\r\n"),
            "malformed: HTTP instead of SOCKS; use http://"
        );
        assert_eq!(
            text(b"\x05\xff"),
            "malformed: SOCKS5 instead of SOCKS4; use socks5h://"
        );
        assert_eq!(text(b"\x07"), "malformed: not SOCKS4 (it begins with 7)");
    }

    #[test]
    fn the_username_is_sent_without_the_password() {
        let mut named = socks("a:1", Some("joe"));
        let request = String::from_utf8(named.begin()).unwrap();
        assert!(!request.contains("hunter2"), "{:?}", request);
        assert_eq!(named.auth_method(), Some(AuthMethod::UserId));
        assert_eq!(socks("a:1", None).auth_method(), None);
        let shown = format!("{:?}", named);
        assert!(!shown.contains("hunter2"), "{}", shown);
    }

    proptest! {
        #[test]
        fn a_reply_can_be_split_anywhere(
            start in prop::sample::select(vec![0, 1, 4]),
            code in 88..95_u8,
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            cut in 0..40_usize,
        ) {
            let whole = [&[start, code][..], &bytes].concat();
            let asking = || {
                let mut exchange = socks("a:1", None);
                exchange.begin();
                exchange
            };
            prop_assert!(is_cut_well(asking, &whole, cut));
        }

        #[test]
        fn every_byte_after_the_eighth_belongs_to_the_tunnel(
            ignored in prop::array::uniform6(any::<u8>()),
            rest in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut exchange = socks("a:1", None);
            exchange.begin();
            let whole = [&[0, 90][..], &ignored, &rest].concat();
            match exchange.feed(&whole) {
                Ok(NegotiationStep::Granted(after)) => prop_assert_eq!(after, rest),
                _ => prop_assert!(false),
            }
        }
    }
}
