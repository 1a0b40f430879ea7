//! Settings of proxies that the configuration doesn't name.

use ptunnel_proto::values::{Credentials, Login, Netrc, ParseError, Protocol, ProxyUrl, Secret};

use super::{ProxySpec, TlsSpec};

/// Credentials and TLS for the proxies that a PAC file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyDefaults {
    /// The user of `--user`.
    pub user: Option<String>,
    /// Username and password for every HTTP proxy.
    pub credentials: Option<Credentials>,
    /// Credentials of the other proxies, by host.
    pub netrc: Netrc,
    /// TLS for `HTTPS` proxies.
    pub tls: Option<TlsSpec>,
}

impl ProxyDefaults {
    /// Adds credentials, and TLS if the URL requires it.
    ///
    /// # Errors
    ///
    /// A usage error if the credentials are longer than the proxy's protocol allows, or if the URL
    /// requires TLS and there are no settings for it.
    pub(crate) fn complete(&self, url: ProxyUrl) -> Result<ProxySpec, ParseError> {
        let given = match url.protocol {
            Protocol::Http => self.credentials.clone(),
            Protocol::Socks5(_) | Protocol::Socks4(_) => None,
        };
        let credentials = match given {
            Some(credentials) => Some(credentials),
            None => self.known(&url)?,
        };
        if url.is_secure && self.tls.is_none() {
            return Err(ParseError::new("TLS isn't set up for it"));
        }
        let tls = self.tls.clone().filter(|_| url.is_secure);
        ProxySpec::of(url, credentials, tls)
    }

    /// Returns the netrc file's credentials for the host: those of `user` if it is set, else the
    /// first.
    fn known(&self, url: &ProxyUrl) -> Result<Option<Credentials>, ParseError> {
        let login = self.netrc.find(&url.address.host, self.user.as_deref());
        let pair = login.and_then(|Login { user, password }| {
            let password = if url.protocol.has_password() {
                password?
            } else {
                Secret::new("")
            };
            Some((user, password))
        });
        pair.map(|(user, password)| Credentials::new(user, password))
            .transpose()
    }

    /// Returns whether it holds a password or a private key.
    pub(super) fn has_credentials(&self) -> bool {
        let has_key = self.tls.as_ref().map_or(false, TlsSpec::has_key);
        self.credentials.is_some() || self.netrc != Netrc::default() || has_key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(defaults: &ProxyDefaults, url: &str) -> Option<String> {
        let spec = defaults.complete(url.parse().unwrap()).unwrap();
        let credentials = spec.credentials.as_ref();
        credentials.map(|known| format!("{}:{}", known.user(), known.password().reveal()))
    }

    #[test]
    fn a_socks_proxy_never_gets_the_credentials_for_http_proxies() {
        let defaults = ProxyDefaults {
            user: Some("joe".into()),
            credentials: Credentials::new("joe", Secret::new("x")).ok(),
            ..ProxyDefaults::default()
        };
        assert_eq!(user(&defaults, "http://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&defaults, "socks5h://a:1"), None);
        assert_eq!(user(&defaults, "socks4://a:1"), None);
        assert!(defaults.has_credentials() && !ProxyDefaults::default().has_credentials());
    }

    /// Otherwise the password would be sent unencrypted.
    #[cfg(feature = "tls")]
    #[test]
    fn a_proxy_that_needs_tls_is_an_error_without_it() {
        let url = "https://a:1".parse().unwrap();
        let why = ProxyDefaults::default().complete(url).unwrap_err();
        assert_eq!(why.to_string(), "TLS isn't set up for it");
    }

    #[test]
    fn the_netrc_file_is_searched_by_host_and_user() {
        let netrc = "machine a login joe password x machine a login ann password y \
                     machine b login bob";
        let mut defaults = ProxyDefaults {
            netrc: Netrc::read(netrc).unwrap(),
            ..ProxyDefaults::default()
        };
        assert_eq!(user(&defaults, "http://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&defaults, "socks5h://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&defaults, "socks4a://a:1").as_deref(), Some("joe:"));
        assert_eq!(user(&defaults, "http://b:1"), None, "it has no password");
        assert_eq!(user(&defaults, "socks4://b:1").as_deref(), Some("bob:"));
        assert_eq!(user(&defaults, "http://c:1"), None);
        defaults.user = Some("ann".into());
        assert_eq!(user(&defaults, "http://a:1").as_deref(), Some("ann:y"));
    }
}
