//! SOCKS, versions 5 (RFC 1928) and 4: as the client of a proxy, and as a server of clients of ours.

mod client;
mod server;

use std::net::Ipv4Addr;

pub use self::client::{Socks4, Socks5, SocksError};
pub use self::server::{Socks4Denial, Socks4Reply, Socks4Server};
pub use self::server::{Socks5Denial, Socks5Reply, Socks5Server, Socks5Step};

/// The first byte of every message of SOCKS5.
pub(crate) const VERSION: u8 = 5;

/// The first byte of a request of SOCKS4.
pub(crate) const VERSION_4: u8 = 4;

/// The version of the talk about a user and a password (RFC 1929).
const LOGIN_VERSION: u8 = 1;

/// The command for a TCP connection, in both versions.
const CONNECT: u8 = 1;

/// Ways to say who one is.
mod method {
    pub(super) const NOBODY: u8 = 0;
    pub(super) const LOGIN: u8 = 2;
    pub(super) const NONE_OF_THESE: u8 = 0xff;
}

/// Kinds of addresses.
mod kind {
    pub(super) const IPV4: u8 = 1;
    pub(super) const NAME: u8 = 3;
    pub(super) const IPV6: u8 = 4;
}

/// Whether it stands for a name, which comes behind the user: nobody has such an address (SOCKS 4A).
fn is_sign_of_name(ip: Ipv4Addr) -> bool {
    matches!(ip.octets(), [0, 0, 0, 1..=255])
}

/// A reply of SOCKS4: its version, a code, and a port and an address that are of no use to a tunnel.
pub(super) mod reply_4 {
    pub(in crate::proto) const VERSION: u8 = 0;
    pub(in crate::proto) const LENGTH: usize = 8;

    pub(in crate::proto) const GRANTED: u8 = 90;
    pub(in crate::proto) const REJECTED: u8 = 91;
    pub(in crate::proto) const NO_IDENTD: u8 = 92;
    pub(in crate::proto) const OTHER_USER: u8 = 93;
}
