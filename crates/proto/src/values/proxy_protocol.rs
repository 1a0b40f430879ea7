//! PROXY headers that ptunnel sends: their version, and the peers that get them.

use std::fmt;
use std::str::FromStr;

use super::{wrong, HostPort, ParseError, Pattern};

/// A version of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

impl ProxyProtocol {
    /// The names of the versions.
    pub const NAMES: &'static [&'static str] = &["v1", "v2"];
}

impl FromStr for ProxyProtocol {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ProxyProtocol, ParseError> {
        match text {
            "v1" => Ok(ProxyProtocol::V1),
            "v2" => Ok(ProxyProtocol::V2),
            _ => {
                let what = "version of the PROXY protocol";
                Err(wrong(what, text, "it must be v1 or v2", "v2"))
            }
        }
    }
}

impl fmt::Display for ProxyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxyProtocol::V1 => "v1",
            ProxyProtocol::V2 => "v2",
        })
    }
}

/// The peers that get a PROXY header with the client's address; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendProxyProtocol {
    /// For destinations, as the first bytes of the tunnel.
    pub to_destination: Option<ProxyProtocol>,
    /// The destinations that get it; empty means all.
    pub destinations: Vec<Pattern>,
    /// For the proxy that ptunnel dials, as the first bytes of the connection.
    pub to_proxy: Option<ProxyProtocol>,
}

impl SendProxyProtocol {
    /// Returns the version for this destination; `None` if it gets no header.
    pub fn for_destination(&self, destination: &HostPort) -> Option<ProxyProtocol> {
        let mut patterns = self.destinations.iter();
        let is_covered =
            self.destinations.is_empty() || patterns.any(|pattern| pattern.covers(destination));
        self.to_destination.filter(|_| is_covered)
    }

    /// Returns whether any peer gets a header.
    pub fn is_used(&self) -> bool {
        self.to_destination.is_some() || self.to_proxy.is_some()
    }
}
