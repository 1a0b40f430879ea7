//! SOCKS5, without authentication, or with a user and a password (RFC 1929).
//!
//! ```text
//!   greeting ──▶ 05 00 ──────────────────────▶ request ──▶ its destination, and in the end
//!      │ └─────▶ 05 02 ──▶ login ──▶ 01 00 ──────▲ │        a Socks5Reply
//!      └──▶ 05 FF            └──▶ 01 01            └──▶ 05 07, 05 08, 05 01
//! ```

use std::convert::TryInto;
use std::error;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::super::{kind, method, CONNECT, LOGIN_VERSION, VERSION};
use super::{destination, named};
use crate::config::{Credentials, Host, HostPort};
use crate::proto::auth::is_same;
use crate::proto::Decoded;

/// How a login went (RFC 1929 §2).
mod login {
    pub(super) const RIGHT: u8 = 0;
    pub(super) const WRONG: u8 = 1;
}

/// How a request went (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Socks5Reply {
    /// The destination is connected.
    Succeeded = 0,
    /// A failure that none of the others names.
    Failed = 1,
    /// Somebody's rules don't allow it.
    NotAllowed = 2,
    /// There is no way to its network.
    NetworkUnreachable = 3,
    /// There is no way to it, or nobody knows it.
    HostUnreachable = 4,
    /// It refused the connection.
    Refused = 5,
    /// It took too long.
    TimedOut = 6,
    /// It was to be something else than CONNECT.
    UnknownCommand = 7,
    /// It was named in a way that isn't known.
    UnknownAddress = 8,
}

impl Socks5Reply {
    /// What a client is told when a proxy of ours said this code: what is said of the destination,
    /// or a failure, where it is about our own request.
    pub fn passed_on(code: u8) -> Socks5Reply {
        match code {
            2 => Socks5Reply::NotAllowed,
            3 => Socks5Reply::NetworkUnreachable,
            4 => Socks5Reply::HostUnreachable,
            5 => Socks5Reply::Refused,
            6 => Socks5Reply::TimedOut,
            _ => Socks5Reply::Failed,
        }
    }

    /// The bytes of it. From which address the destination is connected nobody here knows: behind a
    /// proxy it is none of ours.
    pub fn encode(self) -> Vec<u8> {
        let unspecified = [0; 6];
        [&[VERSION, self as u8, 0, kind::IPV4][..], &unspecified].concat()
    }
}

/// What a client says that can't be served; displays as the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Denial {
    /// Its request has another version than its greeting.
    Version(u8),
    /// This, the one way to say who it is that is taken, isn't among those that it offers.
    Method(u8),
    /// Its login has another version than there is.
    LoginVersion(u8),
    /// It is another user than is wanted, or has another password.
    Login,
    /// It asks for something else than CONNECT.
    Command(u8),
    /// It names its destination in a way that isn't known.
    AddressType(u8),
    /// What it names can't be one.
    Destination(String),
}

impl Socks5Denial {
    /// What it is told.
    pub fn reply(&self) -> Vec<u8> {
        let reply = match self {
            Socks5Denial::Method(_) => return vec![VERSION, method::NONE_OF_THESE],
            Socks5Denial::LoginVersion(_) | Socks5Denial::Login => {
                return vec![LOGIN_VERSION, login::WRONG]
            }
            Socks5Denial::Command(_) => Socks5Reply::UnknownCommand,
            Socks5Denial::AddressType(_) => Socks5Reply::UnknownAddress,
            Socks5Denial::Version(_) | Socks5Denial::Destination(_) => Socks5Reply::Failed,
        };
        reply.encode()
    }
}

impl fmt::Display for Socks5Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socks5Denial::Version(version) => {
                write!(f, "its SOCKS5 request has version {}", version)
            }
            Socks5Denial::Method(method::LOGIN) => {
                f.write_str("its SOCKS5 greeting offers no user and password")
            }
            Socks5Denial::Method(_) => {
                f.write_str("its SOCKS5 greeting doesn't go without authentication")
            }
            Socks5Denial::LoginVersion(version) => {
                write!(f, "its SOCKS5 login has version {}", version)
            }
            Socks5Denial::Login => f.write_str("its SOCKS5 login has a wrong user or password"),
            Socks5Denial::Command(2) => f.write_str("SOCKS5's BIND isn't served, CONNECT alone"),
            Socks5Denial::Command(3) => {
                f.write_str("SOCKS5's UDP ASSOCIATE isn't served, CONNECT alone")
            }
            Socks5Denial::Command(code) => write!(f, "SOCKS5 has no command {}", code),
            Socks5Denial::AddressType(code) => {
                write!(f, "SOCKS5 has no type {} of addresses", code)
            }
            Socks5Denial::Destination(why) => f.write_str(why),
        }
    }
}

impl error::Error for Socks5Denial {}

/// One client's side of the dialogue, as far as its request.
pub struct Socks5Server {
    bytes: Vec<u8>,
    awaited: Awaited,
}

/// What comes next of the client.
#[derive(Debug)]
enum Awaited {
    /// From somebody who must be this user, if any.
    Greeting(Option<Arc<Credentials>>),
    Login(Arc<Credentials>),
    Request,
}

impl fmt::Debug for Socks5Server {
    /// How much, not what: a client's password may be in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socks5Server")
            .field("bytes", &self.bytes.len())
            .field("awaited", &self.awaited)
            .finish()
    }
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socks5Step {
    /// To read on.
    Read,
    /// To send this, and to ask again without anything new.
    Send(Vec<u8>),
    /// To connect it, and to tell it how that went.
    Connect(HostPort),
}

impl Socks5Server {
    /// For a client who must be `user`, if that is anybody.
    pub fn new(user: Option<Arc<Credentials>>) -> Socks5Server {
        Socks5Server {
            bytes: Vec::new(),
            awaited: Awaited::Greeting(user),
        }
    }

    /// Adds what came.
    ///
    /// # Errors
    ///
    /// When the client can't be served, as soon as that is clear.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Socks5Step, Socks5Denial> {
        self.bytes.extend_from_slice(piece);
        let decoded = match &self.awaited {
            Awaited::Greeting(user) => {
                let (method, next) = match user {
                    None => (method::NOBODY, Awaited::Request),
                    Some(user) => (method::LOGIN, Awaited::Login(user.clone())),
                };
                let answer = Socks5Step::Send(vec![VERSION, method]);
                greeting(&self.bytes, method)?.map(|()| (answer, next))
            }
            Awaited::Login(user) => {
                let answer = Socks5Step::Send(vec![LOGIN_VERSION, login::RIGHT]);
                login(&self.bytes, user)?.map(|()| (answer, Awaited::Request))
            }
            Awaited::Request => {
                let asked = |destination| (Socks5Step::Connect(destination), Awaited::Request);
                request(&self.bytes)?.map(asked)
            }
        };
        Ok(match decoded {
            Decoded::Partial => Socks5Step::Read,
            Decoded::Complete((step, next), length) => {
                self.bytes.drain(..length);
                self.awaited = next;
                step
            }
        })
    }

    /// What came behind the request.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// `05 NMETHODS METHODS`, with ours among them.
fn greeting(bytes: &[u8], method: u8) -> Result<Decoded<()>, Socks5Denial> {
    match bytes.get(1..).and_then(counted) {
        None => Ok(Decoded::Partial),
        Some((methods, _)) if methods.contains(&method) => {
            Ok(Decoded::Complete((), 2 + methods.len()))
        }
        Some(_) => Err(Socks5Denial::Method(method)),
    }
}

/// `01 ULEN UNAME PLEN PASSWD`, with the right ones in it.
fn login(bytes: &[u8], right: &Credentials) -> Result<Decoded<()>, Socks5Denial> {
    match bytes.first() {
        Some(version) if *version != LOGIN_VERSION => {
            return Err(Socks5Denial::LoginVersion(*version))
        }
        _ => {}
    }
    let named = bytes.get(1..).and_then(counted);
    let (user, password) = match named.map(|(user, behind)| (user, counted(behind))) {
        Some((user, Some((password, _)))) => (user, password),
        _ => return Ok(Decoded::Partial),
    };
    // Both are looked at: the time doesn't tell which of them is wrong.
    let is_user = is_same(user, right.user().as_bytes());
    let is_password = is_same(password, right.password().reveal().as_bytes());
    if is_user && is_password {
        Ok(Decoded::Complete((), 3 + user.len() + password.len()))
    } else {
        Err(Socks5Denial::Login)
    }
}

/// So many bytes as the first one says, and what is behind them.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, behind) = bytes.split_first()?;
    let count = usize::from(*count);
    if count <= behind.len() {
        Some(behind.split_at(count))
    } else {
        None
    }
}

/// `05 01 00 ATYP ADDRESS PORT`.
fn request(bytes: &[u8]) -> Result<Decoded<HostPort>, Socks5Denial> {
    match bytes {
        [version, ..] if *version != VERSION => return Err(Socks5Denial::Version(*version)),
        [_, command, ..] if *command != CONNECT => return Err(Socks5Denial::Command(*command)),
        _ => {}
    }
    let (kind, address) = match bytes {
        [_, _, _, kind, address @ ..] => (*kind, address),
        _ => return Ok(Decoded::Partial),
    };
    let (skipped, length) = match (kind, address.first()) {
        (kind::IPV4, _) => (0, 4),
        (kind::IPV6, _) => (0, 16),
        (kind::NAME, Some(length)) => (1, usize::from(*length)),
        (kind::NAME, None) => return Ok(Decoded::Partial),
        _ => return Err(Socks5Denial::AddressType(kind)),
    };
    let end = skipped + length;
    let (address, port) = match (address.get(skipped..end), address.get(end..end + 2)) {
        (Some(address), Some(port)) => (address, u16::from_be_bytes([port[0], port[1]])),
        _ => return Ok(Decoded::Partial),
    };
    let destination = host(address, kind).and_then(|host| destination(host, port));
    let destination = destination.map_err(Socks5Denial::Destination)?;
    Ok(Decoded::Complete(destination, 4 + end + 2))
}

fn host(address: &[u8], kind: u8) -> Result<Host, String> {
    if let (kind::IPV4, Ok(octets)) = (kind, TryInto::<[u8; 4]>::try_into(address)) {
        return Ok(Host::Ip(Ipv4Addr::from(octets).into()));
    }
    if let (kind::IPV6, Ok(octets)) = (kind, TryInto::<[u8; 16]>::try_into(address)) {
        return Ok(Host::Ip(Ipv6Addr::from(octets).into()));
    }
    named(address)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Secret;

    const GREETING: &[u8] = &[5, 2, 2, 0];

    /// In UTF-8, as the credentials are.
    const PASSWORD: &[u8] = b"p\xc3\xa4ss:x";

    /// The request, with what stands before and behind it as RFC 1928 has it.
    fn asking(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
        [&[5, 1, 0, kind][..], address, &port.to_be_bytes()].concat()
    }

    fn named(name: &str, port: u16) -> Vec<u8> {
        let address = [&[name.len() as u8], name.as_bytes()].concat();
        asking(3, &address, port)
    }

    fn server() -> Socks5Server {
        Socks5Server::new(None)
    }

    /// One that serves joe alone.
    fn server_of_joe() -> Socks5Server {
        let joe = Credentials::new("joe", Secret::new("p\u{e4}ss:x")).unwrap();
        Socks5Server::new(Some(Arc::new(joe)))
    }

    fn login_of(user: &[u8], password: &[u8]) -> Vec<u8> {
        let counted = |text: &[u8]| [&[text.len() as u8], text].concat();
        [&[1][..], &counted(user), &counted(password)].concat()
    }

    /// A server that was greeted, fed a request.
    fn asked(request: &[u8]) -> Result<Socks5Step, Socks5Denial> {
        let mut server = server();
        let greeted = server.feed(GREETING);
        assert_eq!(greeted, Ok(Socks5Step::Send(vec![5, 0])));
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
            let expected = Socks5Step::Connect(destination.parse().unwrap());
            assert_eq!(asked(request), Ok(expected));
        }
    }

    /// What comes in one piece, or in two, is the same; what is behind the request is kept.
    #[test]
    fn how_it_is_cut_makes_no_difference() {
        let request = [&named("example.org", 22), &b"early"[..]].concat();
        let plain = [GREETING, &request].concat();
        let with_login = [GREETING, &login_of(b"joe", PASSWORD), &request].concat();
        let cases = [
            (plain, false, &[5, 0][..]),
            (with_login, true, &[5, 2, 1, 0]),
        ];
        for (dialogue, is_of_joe, answers) in &cases {
            for cut in 0..=dialogue.len() {
                let mut server = if *is_of_joe {
                    server_of_joe()
                } else {
                    server()
                };
                let (front, back) = dialogue.split_at(cut);
                let mut pieces = vec![&[][..], &[], back, &[], &[], front];
                let mut sent = Vec::new();
                let asked = loop {
                    match server.feed(pieces.pop().unwrap()).unwrap() {
                        Socks5Step::Read => {}
                        Socks5Step::Send(bytes) => sent.extend(bytes),
                        Socks5Step::Connect(destination) => break destination,
                    }
                };
                assert_eq!(sent, *answers);
                assert_eq!(asked.to_string(), "example.org:22");
                pieces.reverse();
                let rest = [server.into_rest(), pieces.concat()].concat();
                assert_eq!(rest, b"early", "cut at {}", cut);
            }
        }
    }

    #[test]
    fn a_client_that_must_authenticate_is_told_so() {
        for greeting in &[&[5, 0][..], &[5, 1, 2], &[5, 2, 1, 2]] {
            let fault = server().feed(greeting).unwrap_err();
            assert_eq!(fault, Socks5Denial::Method(method::NOBODY));
            assert_eq!(fault.reply(), [5, 0xff]);
        }
    }

    #[test]
    fn one_that_will_not_is_sent_away_where_it_must() {
        for greeting in &[&[5, 0][..], &[5, 1, 0], &[5, 2, 1, 0]] {
            let fault = server_of_joe().feed(greeting).unwrap_err();
            assert_eq!(fault, Socks5Denial::Method(method::LOGIN));
            assert_eq!(fault.reply(), [5, 0xff]);
        }
    }

    #[test]
    fn the_right_user_with_the_right_password_is_served_alone() {
        let logged_in = |login: &[u8]| {
            let mut server = server_of_joe();
            let greeted = server.feed(GREETING);
            assert_eq!(greeted, Ok(Socks5Step::Send(vec![5, 2])));
            server.feed(login)
        };
        let right = logged_in(&login_of(b"joe", PASSWORD));
        assert_eq!(right, Ok(Socks5Step::Send(vec![1, 0])));
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
            assert_eq!(fault, Socks5Denial::Login);
            assert_eq!(fault.reply(), [1, 1]);
        }
        let fault = logged_in(b"\x05").unwrap_err();
        assert_eq!(fault, Socks5Denial::LoginVersion(5));
        assert_eq!(fault.reply(), [1, 1]);
        assert_eq!(logged_in(b"\x01\x03joe"), Ok(Socks5Step::Read));
    }

    #[test]
    fn nothing_shows_a_clients_password() {
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
    fn what_can_not_be_served_is_named_in_the_reply() {
        let code = |request: &[u8]| {
            let fault = asked(request).unwrap_err();
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
            (named("example.org", 0), 1, "without a port"),
        ] {
            let (reply, why) = code(request);
            assert_eq!(reply, *expected, "{}", why);
            assert!(why.contains(word), "{}", why);
            assert!(!why.chars().any(char::is_control), "{:?}", why);
        }
    }

    #[test]
    fn an_answer_is_ten_bytes_of_socks5() {
        let expected = [5, 5, 0, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(Socks5Reply::Refused.encode(), expected);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(
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
}
