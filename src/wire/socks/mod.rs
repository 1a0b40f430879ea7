//! SOCKS version 5 (RFC 1928), as the client of a proxy and as a server of clients of ours.

mod client;
mod server;

pub use self::client::{Socks5, SocksFault};
pub(crate) use self::server::VERSION_4;
pub use self::server::{SocksDenial, SocksReply, SocksServer, SocksStep};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;

/// The version of the talk about a user and a password (RFC 1929).
const LOGIN_VERSION: u8 = 1;

/// The command for a TCP connection.
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
