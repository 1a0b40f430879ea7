//! The path of a tunnel, for messages and logs.

use std::fmt;

/// The destination and the proxies of a tunnel, as far as known; displays as
/// `to example.org:22 through proxy.example:3128 via second.example:3128`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TunnelPath {
    pub(crate) destination: String,
    /// The chain of proxies; empty for a direct tunnel, `None` while unknown.
    pub(crate) proxies: Option<Vec<String>>,
}

impl TunnelPath {
    pub(crate) fn to(destination: impl fmt::Display) -> TunnelPath {
        TunnelPath {
            destination: destination.to_string(),
            proxies: None,
        }
    }

    pub(crate) fn through(self, proxies: Vec<String>) -> TunnelPath {
        TunnelPath {
            proxies: Some(proxies),
            ..self
        }
    }
}

impl fmt::Display for TunnelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to {}", self.destination)?;
        match &self.proxies {
            None => Ok(()),
            Some(proxies) if proxies.is_empty() => f.write_str(" directly"),
            Some(proxies) => write!(f, " through {}", proxies.join(" via ")),
        }
    }
}
