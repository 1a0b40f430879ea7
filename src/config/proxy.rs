//! A proxy with its protocol and credentials.

use std::fmt;
use std::str::FromStr;

use super::{
    Credentials, HostPort, Login, ParseError, ProxyUrl, Secret, TlsOptions, TlsPeer, TlsSpec,
};

/// The protocol between ptunnel and a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP with the method CONNECT (RFC 9110 §9.3.6).
    Http,
    /// SOCKS version 5 (RFC 1928).
    Socks5(DnsMode),
    /// SOCKS version 4, or 4A where the proxy resolves names.
    Socks4(DnsMode),
}

impl Protocol {
    /// Returns whether ptunnel resolves the names of destinations.
    pub fn resolves_here(self) -> bool {
        matches!(
            self,
            Protocol::Socks5(DnsMode::Local) | Protocol::Socks4(DnsMode::Local)
        )
    }

    /// Returns whether the protocol has passwords. Each has users.
    pub fn has_password(self) -> bool {
        !matches!(self, Protocol::Socks4(_))
    }
}

/// The side that resolves the names of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsMode {
    /// ptunnel, which sends the proxy an address.
    Local,
    /// The proxy.
    Remote,
}

/// A proxy: its address, protocol and credentials.
///
/// Displays as `host:port`, with a scheme in front unless that is `http://`, and never with the
/// credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySpec {
    /// The protocol between ptunnel and the proxy.
    pub protocol: Protocol,
    /// Where the proxy listens.
    pub address: HostPort,
    /// The credentials for this proxy alone.
    pub credentials: Option<Credentials>,
    /// TLS to the proxy; `None` for plain text.
    pub tls: Option<TlsSpec>,
}

impl From<HostPort> for ProxySpec {
    /// Returns an HTTP proxy without credentials or TLS.
    fn from(address: HostPort) -> ProxySpec {
        ProxySpec {
            protocol: Protocol::Http,
            address,
            credentials: None,
            tls: None,
        }
    }
}

impl FromStr for ProxySpec {
    type Err = ParseError;

    /// Parses a [`ProxyUrl`]. A missing password is empty; TLS trusts the CAs of the system.
    fn from_str(text: &str) -> Result<ProxySpec, ParseError> {
        let url: ProxyUrl = text.parse()?;
        let credentials = match &url.login {
            Some(Login { user, password }) => {
                let password = password.clone().unwrap_or_else(|| Secret::new(""));
                Some(Credentials::new(user, password)?)
            }
            None => None,
        };
        let tls = if url.is_secure {
            Some(TlsOptions::of(TlsPeer::Proxy).load()?)
        } else {
            None
        };
        url.with(credentials, tls)
    }
}

impl fmt::Display for ProxySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.protocol {
            Protocol::Http if self.tls.is_some() => "https://",
            Protocol::Http => "",
            Protocol::Socks5(DnsMode::Local) => "socks5://",
            Protocol::Socks5(DnsMode::Remote) => "socks5h://",
            Protocol::Socks4(DnsMode::Local) => "socks4://",
            Protocol::Socks4(DnsMode::Remote) => "socks4a://",
        })?;
        self.address.fmt(f)
    }
}
