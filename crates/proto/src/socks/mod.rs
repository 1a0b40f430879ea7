//! SOCKS5 (RFC 1928, RFC 1929) and SOCKS4 with its extension 4A, CONNECT only: as the client of a
//! proxy, and as a server of the clients of `-D`.
//!
//! Holds encoding, decoding and state machines. Must not hold anything that reads, writes or waits,
//! nor policy. `negotiation` runs the client's side, `inbound` the server's.
//!
//! SOCKS4 has no RFC: this follows Ying-Da Lee's "SOCKS: A protocol for TCP proxy across firewalls"
//! and "SOCKS 4A: A Simple Extension to SOCKS 4 Protocol".

mod client;
mod server;

use std::net::Ipv4Addr;

pub use self::client::{Socks4, Socks5, SocksError};
pub use self::server::{SocksRejection, SocksReply, SocksServer};

/// The first byte of every message of SOCKS5, except for a login's.
pub const VERSION: u8 = 5;

/// The first byte of a SOCKS4 request.
pub const VERSION_4: u8 = 4;

/// The version of a login with username and password (RFC 1929 §2).
const LOGIN_VERSION: u8 = 1;

/// The command for a TCP connection, in both versions.
const CONNECT: u8 = 1;

/// Authentication methods (RFC 1928 §3).
mod method {
    pub(super) const NO_AUTHENTICATION: u8 = 0;
    pub(super) const LOGIN: u8 = 2;
    pub(super) const NO_ACCEPTABLE: u8 = 0xff;
}

/// Address types (RFC 1928 §5).
mod atyp {
    pub(super) const IPV4: u8 = 1;
    pub(super) const NAME: u8 = 3;
    pub(super) const IPV6: u8 = 4;
}

/// Returns whether an address marks a name after the user id (SOCKS 4A): 0.0.0.x, x not 0.
fn is_sign_of_name(ip: Ipv4Addr) -> bool {
    matches!(ip.octets(), [0, 0, 0, 1..=255])
}

/// A SOCKS4 reply: a version, a code, and a port and an address, which a tunnel doesn't need.
pub(super) mod reply_4 {
    pub const VERSION: u8 = 0;
    pub(crate) const LENGTH: usize = 8;

    pub(crate) const GRANTED: u8 = 90;
    pub(crate) const REJECTED: u8 = 91;
    pub(crate) const NO_IDENTD: u8 = 92;
    pub(crate) const OTHER_USER: u8 = 93;
}
