//! The server's side, for the clients of `-D`: CONNECT only.
//!
//! Must not hold anything that reads, writes or waits, nor the choice of a reply to a failed tunnel.
//! `inbound` uses it.

mod v4;
mod v5;

pub use self::v4::{Socks4Rejection, Socks4Reply, Socks4Server};
pub use self::v5::{Socks5Rejection, Socks5Reply, Socks5Server, Socks5Step};

use crate::config::{Host, HostPort};
use crate::text::escape::Escaped;

/// Parses a name. It may be the text of an address: some clients send all destinations as names.
fn named(name: &[u8]) -> Result<Host, String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.parse::<Host>().map_err(|e| e.to_string()),
        Err(_) => Err(format!("invalid host '{}'", Escaped(name))),
    }
}

/// Returns the destination, unless its port is 0.
fn destination(host: Host, port: u16) -> Result<HostPort, String> {
    match port {
        0 => Err(format!("it asks for {} without a port", host)),
        _ => Ok(HostPort { host, port }),
    }
}
