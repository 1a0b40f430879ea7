//! The server's side, for clients of ours: CONNECT alone, a version a file.

mod v4;
mod v5;

pub use self::v4::{Socks4Denial, Socks4Reply, Socks4Server};
pub use self::v5::{Socks5Denial, Socks5Reply, Socks5Server, Socks5Step};

use crate::config::{Host, HostPort};
use crate::text::escape::Escaped;

/// A name may be an address in letters, too: some clients know but that one way.
fn named(name: &[u8]) -> Result<Host, String> {
    match std::str::from_utf8(name) {
        Ok(name) => name.parse::<Host>().map_err(|e| e.to_string()),
        Err(_) => Err(format!("invalid host '{}'", Escaped(name))),
    }
}

/// What a client asks for, unless nothing can be connected to it.
fn destination(host: Host, port: u16) -> Result<HostPort, String> {
    match port {
        0 => Err(format!("it asks for {} without a port", host)),
        _ => Ok(HostPort { host, port }),
    }
}
