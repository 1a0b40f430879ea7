//! Destinations of tunnels, with their TLS settings.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use ptunnel_proto::values::{DestinationUrl, HostPort, ParseError, TlsOptions, TlsPeer};

use super::TlsSpec;

/// The destination of a tunnel, with its TLS settings. Two are equal if both parts are.
///
/// Displays in the form that it is parsed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The address in the request to the proxy, or to connect to directly.
    pub address: HostPort,
    /// The TLS settings for the clients' bytes; `None` sends the bytes unencrypted.
    pub tls: Option<TlsSpec>,
}

impl Destination {
    /// Returns the destination with its TLS settings.
    ///
    /// # Errors
    ///
    /// [`ParseError`] when it needs TLS and `tls` is `None`: the bytes are never sent unencrypted
    /// instead.
    #[cfg_attr(not(feature = "tls"), allow(unreachable_code))] // without it, no TlsSpec exists
    pub fn of(url: DestinationUrl, tls: &Option<TlsSpec>) -> Result<Destination, ParseError> {
        let tls = match (url.tls, tls) {
            (None, _) => None,
            (Some(start), Some(spec)) => Some(spec.starting(start)),
            (Some(_), None) => {
                return Err(ParseError::new(format!("TLS isn't set up for {}", url)))
            }
        };
        Ok(Destination {
            address: url.address,
            tls,
        })
    }
}

impl FromStr for Destination {
    type Err = ParseError;

    /// Reads `HOST:PORT` or `tls://HOST:PORT`; TLS trusts the system's certificates.
    fn from_str(text: &str) -> Result<Destination, ParseError> {
        let url: DestinationUrl = text.parse()?;
        let tls = if url.tls.is_some() {
            Some(TlsSpec::load(&TlsOptions::of(TlsPeer::Destination))?)
        } else {
            None
        };
        Destination::of(url, &tls)
    }
}

impl From<HostPort> for Destination {
    /// Makes a destination without TLS.
    fn from(address: HostPort) -> Destination {
        Destination { address, tls: None }
    }
}

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Destination {
        HostPort::from(address).into()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.tls.as_ref().map_or("", |tls| tls.start().scheme());
        write!(f, "{}{}", scheme, self.address)
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::*;

    /// Otherwise ptunnel would send bytes unencrypted that the user believes to be encrypted.
    #[test]
    fn a_destination_with_tls_needs_its_settings() {
        let url: DestinationUrl = "tls://a:1".parse().unwrap();
        let why = Destination::of(url.clone(), &None).unwrap_err();
        assert_eq!(why.to_string(), "TLS isn't set up for tls://a:1");
        let spec = TlsSpec::load(&TlsOptions::of(TlsPeer::Destination)).unwrap();
        let secure = Destination::of(url, &Some(spec.clone())).unwrap();
        assert_eq!(secure.to_string(), "tls://a:1");
        assert_eq!(secure, "tls://a:1".parse().unwrap());
        let plain: Destination = "a:1".parse().unwrap();
        assert_ne!(secure, plain);
        let ignoring = TlsOptions {
            insecure: true,
            ..TlsOptions::of(TlsPeer::Destination)
        };
        let ignoring = Destination {
            tls: TlsSpec::load(&ignoring).ok(),
            ..plain
        };
        assert_ne!(secure, ignoring);
        assert_ne!(secure, "starttls-imap://a:1".parse().unwrap());
    }
}
