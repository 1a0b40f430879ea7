//! SOCKS5: a tunnel is asked for in two messages, or in three where the proxy wants a user and a
//! password (RFC 1929).

use std::mem;
use std::net::IpAddr;
use std::time::Duration;

use super::super::{kind, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{refused, SocksError};
use crate::config::{Credentials, Host, HostPort};
use crate::proto::auth::{AuthCache, Clearance};
use crate::proto::{AuthMethod, Malformed, NegotiationStep, SocksRefusal};

const SUCCEEDED: u8 = 0;

/// Asks a SOCKS5 proxy for a tunnel.
///
/// ```text
///   begin ──▶ Choosing ──nobody──▶ Asking ──succeeded──▶ Granted, with what came behind the reply
///              │    │                ▲ └──any other code──▶ Refused
///              │    └─login──▶ Proving ──wrong──▶ Refused
///              └──none of these──▶ Refused
/// ```
///
/// Only one message is under way at any time: a proxy that says more than it was asked for talks
/// nonsense.
#[derive(Debug)]
pub struct Socks5 {
    target: HostPort,
    login: Option<Login>,
    stage: Stage,
    /// What has come of the reply to the last message.
    reply: Vec<u8>,
}

/// The user and the password, and whether they may be sent.
#[derive(Debug)]
struct Login {
    identity: AuthCache,
    clearance: Clearance,
    /// They weren't offered, being withheld for so much longer.
    withheld: Option<Duration>,
}

/// Which message was sent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Choosing,
    Proving,
    Asking,
}

impl Socks5 {
    /// Will ask for a tunnel to `target`, and say who we are when that is wanted.
    pub fn connect(target: &HostPort, identity: Option<AuthCache>) -> Socks5 {
        let login = identity.map(|identity| Login {
            clearance: identity.clearance(),
            identity,
            withheld: None,
        });
        Socks5 {
            target: target.clone(),
            login,
            stage: Stage::Choosing,
            reply: Vec::new(),
        }
    }

    pub(in crate::proto) fn begin(&mut self) -> Vec<u8> {
        self.stage = Stage::Choosing;
        self.reply.clear();
        if let Some(login) = &mut self.login {
            login.withheld = login.clearance.ask().err();
        }
        match self.offered() {
            None => vec![VERSION, 1, method::NOBODY],
            Some(_) => vec![VERSION, 2, method::NOBODY, method::LOGIN],
        }
    }

    /// The user and the password, where they aren't withheld.
    fn offered(&self) -> Option<&Login> {
        let login = self.login.as_ref();
        login.filter(|login| login.withheld.is_none())
    }

    pub(in crate::proto) fn feed(&mut self, piece: &[u8]) -> Result<NegotiationStep, Malformed> {
        self.reply.extend_from_slice(piece);
        match (self.stage, self.reply.first()) {
            // Its version is left alone: there are proxies that write 5.
            (Stage::Proving, _) | (_, None) | (_, Some(&VERSION)) => {}
            (_, Some(&byte)) => {
                let version = VERSION;
                return Err(SocksError::Start { version, byte }.into());
            }
        }
        // Every reply says in its second byte what it is about.
        match (self.stage, self.reply.get(1).copied()) {
            (_, None) => Ok(NegotiationStep::Read),
            (Stage::Choosing, Some(chosen)) => self.chosen(chosen),
            (Stage::Proving, Some(SUCCEEDED)) => {
                if let Some(login) = &mut self.login {
                    login.clearance.accepted();
                }
                self.ask()
            }
            (Stage::Proving, Some(_)) => {
                if let Some(login) = &mut self.login {
                    login.clearance.refused();
                }
                Ok(refused(SocksRefusal::Credentials))
            }
            (Stage::Asking, Some(SUCCEEDED)) => self.succeeded(),
            (Stage::Asking, Some(code)) => Ok(refused(SocksRefusal::Reply {
                code,
                by_name: matches!(self.target.host, Host::Name(_)),
            })),
        }
    }

    pub(in crate::proto) fn auth_method(&self) -> Option<AuthMethod> {
        match self.stage {
            Stage::Proving => Some(AuthMethod::Login),
            Stage::Choosing | Stage::Asking => None,
        }
    }

    fn chosen(&mut self, chosen: u8) -> Result<NegotiationStep, Malformed> {
        if let (method::NOBODY, Some(login)) = (chosen, &mut self.login) {
            login.clearance.unwanted();
        }
        match (chosen, self.offered()) {
            (method::NOBODY, _) => self.ask(),
            (method::LOGIN, Some(offered)) => {
                let message = login(offered.identity.credentials());
                self.send(Stage::Proving, message)
            }
            (method::NONE_OF_THESE, offered) => {
                let withheld = self.login.as_ref().and_then(|login| login.withheld);
                let named = offered.is_some();
                Ok(refused(withheld.map_or(
                    SocksRefusal::Methods { named },
                    SocksRefusal::Withheld,
                )))
            }
            (other, _) => Err(SocksError::Method(other).into()),
        }
    }

    fn ask(&mut self) -> Result<NegotiationStep, Malformed> {
        let message = request(&self.target);
        self.send(Stage::Asking, message)
    }

    fn send(&mut self, stage: Stage, message: Vec<u8>) -> Result<NegotiationStep, Malformed> {
        if self.reply.len() > 2 {
            return Err(SocksError::Ahead.into());
        }
        self.stage = stage;
        self.reply.clear();
        Ok(NegotiationStep::Send(message))
    }

    /// What is behind the reply, once that is whole: it ends with an address, which is of no use
    /// to a tunnel, and whose length it tells itself.
    fn succeeded(&mut self) -> Result<NegotiationStep, Malformed> {
        let length = match self.reply[2..] {
            [_, kind::IPV4, ..] => 4,
            [_, kind::IPV6, ..] => 16,
            [_, kind::NAME, length, ..] => 1 + usize::from(length),
            [] | [_] | [_, kind::NAME] => return Ok(NegotiationStep::Read),
            [_, other, ..] => return Err(SocksError::Address(other).into()),
        };
        let end = 4 + length + 2;
        if self.reply.len() < end {
            return Ok(NegotiationStep::Read);
        }
        let mut reply = mem::take(&mut self.reply);
        Ok(NegotiationStep::Granted(reply.split_off(end)))
    }
}

fn login(credentials: &Credentials) -> Vec<u8> {
    let mut message = vec![LOGIN_VERSION];
    push_counted(&mut message, credentials.user());
    push_counted(&mut message, credentials.password().reveal());
    message
}

fn request(target: &HostPort) -> Vec<u8> {
    let mut message = vec![VERSION, CONNECT, 0];
    match &target.host {
        Host::Ip(IpAddr::V4(ip)) => {
            message.push(kind::IPV4);
            message.extend_from_slice(&ip.octets());
        }
        Host::Ip(IpAddr::V6(ip)) => {
            message.push(kind::IPV6);
            message.extend_from_slice(&ip.octets());
        }
        Host::Name(name) => {
            message.push(kind::NAME);
            push_counted(&mut message, name);
        }
    }
    message.extend_from_slice(&target.port.to_be_bytes());
    message
}

/// Behind its length, for which there is one byte: `config` takes no longer name, user or
/// password.
fn push_counted(message: &mut Vec<u8>, text: &str) {
    debug_assert!(text.len() <= usize::from(u8::MAX));
    message.push(text.len() as u8);
    message.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Schemes;
    use crate::proto::socks::client::heard::{credentials, end, is_cut_well, said};
    use crate::proto::Negotiation;

    /// Written out byte by byte from RFC 1928 and RFC 1929.
    const NOBODY: &[u8] = b"\x05\x00";
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
    fn asks_by_name_and_by_address() {
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
            assert_eq!(said(&mut exchange, NOBODY).unwrap(), *request, "{}", target);
            let end = said(&mut exchange, &[GRANTED, b"SSH-"].concat());
            assert_eq!(end.unwrap_err(), "granted: SSH-");
        }
        let longest = format!("{}:1", ["a"; 127].join("."));
        let mut exchange = socks(&longest, None);
        exchange.begin();
        assert_eq!(said(&mut exchange, NOBODY).unwrap().len(), 4 + 1 + 253 + 2);
    }

    #[test]
    fn tells_who_we_are_when_asked() {
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
        assert_eq!(end(joe(), &[NOBODY, GRANTED]), "granted: ");
    }

    #[test]
    fn every_reply_may_arrive_byte_by_byte() {
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
    fn a_no_is_known_by_its_code_and_before_its_end() {
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
            (b"\x05\x5b", "SOCKS reply 91, of no known meaning"),
        ];
        for (reply, reason) in cases {
            let told = end(socks("a:1", None), &[NOBODY, reply]);
            assert_eq!(told, format!("refused it: {}", reason));
        }
        let unknown: &[u8] = b"\x05\x08";
        let by_name = end(socks("a:1", None), &[NOBODY, unknown]);
        assert!(
            by_name.ends_with("socks5:// has them resolved here"),
            "{}",
            by_name
        );
        let by_address = end(socks("[::1]:1", None), &[NOBODY, unknown]);
        assert!(
            by_address.ends_with("not supported (SOCKS reply 8)"),
            "{}",
            by_address
        );
    }

    #[test]
    fn a_no_to_us_says_what_it_is_about() {
        let none: &[u8] = b"\x05\xff";
        let nameless = end(socks("a:1", None), &[none]);
        assert_eq!(nameless, "refused us: it wants credentials");
        let named = end(joe(), &[none]);
        assert!(named.starts_with("refused us: it wants credentials of another kind"));
        let wrong = end(joe(), &[LOGIN, b"\x01\x01"]);
        assert!(wrong.starts_with("refused us: it doesn't take the credentials"));
    }

    /// Each client that came sent it once more, until the account was locked.
    #[test]
    fn a_refused_password_is_withheld_from_the_next_tunnels() {
        let joe = identity(Some(("joe", "hunter2")));
        let target = "a:1".parse().unwrap();
        let next = || Negotiation::from(Socks5::connect(&target, joe.clone()));
        let mut refused = next();
        assert_eq!(refused.begin(), b"\x05\x02\x00\x02");
        let told = end(refused, &[LOGIN, b"\x01\x01"]);
        assert!(told.starts_with("refused us: it doesn't take"), "{}", told);
        let mut withheld = next();
        assert_eq!(withheld.begin(), b"\x05\x01\x00");
        let told = end(withheld, &[b"\x05\xff"]);
        assert!(told.contains("refused the password before"), "{}", told);
        assert!(end(next(), &[LOGIN]).contains("method 2"));
        assert_eq!(end(next(), &[NOBODY, GRANTED]), "granted: ");
    }

    #[test]
    fn what_is_no_socks_is_told() {
        let told = |replies: &[&[u8]]| end(socks("a:1", None), replies);
        assert_eq!(
            told(&[b"HTTP/1.1 400 Bad Request\r\n"]),
            "malformed: it speaks HTTP: try http://"
        );
        assert_eq!(
            told(&[b"\x00\x5b"]),
            "malformed: it speaks SOCKS4: try socks4a://"
        );
        assert_eq!(
            told(&[b"SSH-2.0-"]),
            "malformed: not SOCKS5 (it begins with 83)"
        );
        assert!(told(&[b"\x05\x02"]).contains("method 2"));
        assert!(told(&[b"\x05\x01"]).contains("method 1"));
        assert!(told(&[NOBODY, b"\x05\x00\x00\x02"]).contains("kind 2"));
        let ahead = [NOBODY, GRANTED].concat();
        assert!(told(&[&ahead]).contains("more than it was asked for"));
    }

    #[test]
    fn its_debug_text_holds_no_password() {
        let shown = format!("{:?}", joe());
        assert!(!shown.contains("hunter2"), "{}", shown);
    }

    proptest! {
        #[test]
        fn how_a_last_reply_is_cut_makes_no_difference(
            kind in 0..6_u8,
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cut in 0..300_usize,
        ) {
            let whole = [&[VERSION, SUCCEEDED, 0, kind][..], &bytes].concat();
            let asking = || {
                let mut exchange = socks("a:1", None);
                exchange.begin();
                said(&mut exchange, NOBODY).unwrap();
                exchange
            };
            prop_assert!(is_cut_well(asking, &whole, cut));
        }

        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..6)) {
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
}
