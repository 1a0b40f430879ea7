//! A proxy with its protocol and credentials.

use std::fmt;
use std::str::FromStr;

use ptunnel_proto::values::{
    Credentials, DnsMode, HostPort, Login, ParseError, Protocol, ProxyUrl, Secret, TlsOptions,
    TlsPeer,
};

use super::TlsSpec;

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

impl ProxySpec {
    /// Returns the proxy with these credentials and TLS.
    ///
    /// # Errors
    ///
    /// Credentials of more than 255 bytes each for SOCKS5 (RFC 1929 §2).
    pub fn of(
        url: ProxyUrl,
        credentials: Option<Credentials>,
        tls: Option<TlsSpec>,
    ) -> Result<ProxySpec, ParseError> {
        let fit = credentials
            .as_ref()
            .map_or(true, Credentials::fit_in_socks5);
        if matches!(url.protocol, Protocol::Socks5(_)) && !fit {
            return Err(ParseError::new(format!(
                "the username and the password for {} can have at most 255 bytes each (SOCKS5)",
                url.address
            )));
        }
        Ok(ProxySpec {
            protocol: url.protocol,
            address: url.address,
            credentials,
            tls,
        })
    }
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
            Some(TlsSpec::load(&TlsOptions::of(TlsPeer::Proxy))?)
        } else {
            None
        };
        ProxySpec::of(url, credentials, tls)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socks5_has_room_for_255_bytes() {
        let spec = |scheme: &str, count| {
            let url = format!("{}://joe:{}@h", scheme, "x".repeat(count));
            url.parse::<ProxySpec>().map_err(|e| e.to_string())
        };
        assert!(spec("socks5h", 255).is_ok());
        let complaint = spec("socks5h", 256).unwrap_err();
        assert!(
            complaint.contains("255") && !complaint.contains("xx"),
            "{}",
            complaint
        );
        assert!(spec("http", 256).is_ok());
    }

    #[test]
    fn displays_without_credentials() {
        for (text, shown) in &[
            ("joe:x@h:3128", "h:3128"),
            ("socks5://h", "socks5://h:1080"),
            ("SOCKS5H://joe:x@h", "socks5h://h:1080"),
            ("socks5h://[::1]:9050/", "socks5h://[::1]:9050"),
            ("socks4://h", "socks4://h:1080"),
            ("Socks4A://joe@h", "socks4a://h:1080"),
            ("socks4a://[::1]:9/", "socks4a://[::1]:9"),
            #[cfg(feature = "tls")]
            ("https://proxy.example", "https://proxy.example:443"),
        ] {
            assert_eq!(text.parse::<ProxySpec>().unwrap().to_string(), *shown);
        }
    }

    #[test]
    fn a_user_of_socks4_can_be_long_and_has_no_control_characters() {
        let named: ProxySpec = "socks4a://j%40e@h".parse().unwrap();
        assert_eq!(named.credentials.unwrap().user(), "j@e");
        let long = format!("socks4://{}@h", "x".repeat(256));
        assert!(long.parse::<ProxySpec>().is_ok());
        assert!("socks4://j%00e@h".parse::<ProxySpec>().is_err());
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn https_is_refused_in_a_build_without_tls() {
        let complaint = "https://h".parse::<ProxySpec>().unwrap_err().to_string();
        assert!(complaint.contains("built without TLS"), "{}", complaint);
    }
}
