//! The server's side, for the clients of `-D`: CONNECT only.
//!
//! `handshake` runs the exchange, `v4_messages` and `v5_messages` decode what it reads, `reply` encodes
//! its end. Must not hold anything that reads, writes or waits, nor the choice of a reply to a failed
//! tunnel. The `inbound` module of `ptunnel-core` uses it.

mod handshake;
mod reply;
mod v4_messages;
mod v5_messages;

pub use self::handshake::SocksServer;
pub use self::reply::{SocksRejection, SocksReply};

use super::{CONNECT, LOGIN_VERSION, VERSION, VERSION_4};
use crate::text::escape::Escaped;
use crate::values::{Host, HostPort};

/// `STATUS` of a reply to a login (RFC 1929 §2).
mod status {
    pub(super) const SUCCESS: u8 = 0;
    pub(super) const FAILURE: u8 = 1;
}

/// Parses a name. It may be the text of an address: some clients send all destinations as names.
fn named(name: &[u8]) -> Result<Host, String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.parse::<Host>().map_err(|e| e.to_string()),
        Err(_) => Err(format!("invalid host '{}'", Escaped(name))),
    }
}

/// Returns the destination of a request in this version, unless its host is invalid or its port 0.
fn destination(
    version: u8,
    host: Result<Host, String>,
    port: u16,
) -> Result<HostPort, SocksRejection> {
    let destination = host.and_then(|host| match port {
        0 => Err(format!("the request for {} has no port", host)),
        _ => Ok(HostPort { host, port }),
    });
    destination.map_err(|why| SocksRejection::Destination { version, why })
}
