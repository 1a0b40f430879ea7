//! The message by which a probe finds out whether a proxy answers: it names no destination and has no
//! credentials.

use super::{Socks5, VERSION};
use crate::values::{HostPort, Protocol};

/// A message that every proxy of a protocol answers by itself, and how any answer begins.
#[derive(Debug)]
pub struct Ping {
    /// The bytes to send.
    pub message: Vec<u8>,
    /// The first bytes of an answer.
    pub answer: &'static [u8],
}

impl Ping {
    /// Returns the message for this proxy. `None` for SOCKS4, whose only message is a request for a
    /// destination.
    pub fn to(protocol: Protocol, address: &HostPort) -> Option<Ping> {
        match protocol {
            // "A 'ping' or 'no-op' type of method" (RFC 9110 §9.3.7), which isn't passed on to another
            // proxy (§7.6.2).
            Protocol::Http => Some(Ping {
                message: format!(
                    "OPTIONS * HTTP/1.1\r\nHost: {}\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
                    address
                )
                .into_bytes(),
                answer: b"HTTP/",
            }),
            // Nothing is requested before the proxy has chosen a method (RFC 1928 §3).
            Protocol::Socks5(_) => Some(Ping {
                message: Socks5::connect(address, None).begin(),
                answer: &[VERSION],
            }),
            Protocol::Socks4(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ProxyUrl;

    #[test]
    fn a_ping_has_neither_destination_nor_credentials() {
        let message = |url: &str| {
            let url: ProxyUrl = url.parse().unwrap();
            Ping::to(url.protocol, &url.address).map(|ping| ping.message)
        };
        let http = message("http://joe:secret@p.example:3128").unwrap();
        assert_eq!(
            String::from_utf8(http).unwrap(),
            "OPTIONS * HTTP/1.1\r\nHost: p.example:3128\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n"
        );
        let socks = message("socks5h://joe:secret@p.example");
        assert_eq!(socks, Some(vec![5, 1, 0]));
        assert_eq!(message("socks4://joe@p.example"), None);
    }
}
