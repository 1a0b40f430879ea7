//! What proxies are spoken to with that nobody has named yet.

use crate::config::{Credentials, Login, Netrc, Protocol, ProxySpec, ProxyUrl, Secret, TlsSpec};
use crate::error::Error;

/// Credentials and TLS for whichever proxies a file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyDefaults {
    /// The user of `--user`.
    pub user: Option<String>,
    /// With a password that is for each HTTP proxy.
    pub credentials: Option<Credentials>,
    /// Who we are to the others, by their hosts.
    pub netrc: Netrc,
    /// What proxies with HTTPS are spoken to in.
    pub tls: Option<TlsSpec>,
}

impl ProxyDefaults {
    /// The proxy with its credentials, and with TLS if it wants that.
    ///
    /// # Errors
    ///
    /// When its protocol has no room for them; when there is no TLS for it.
    pub(super) fn complete(&self, url: ProxyUrl) -> Result<ProxySpec, Error> {
        let given = match url.protocol {
            Protocol::Http => self.credentials.clone(),
            Protocol::Socks5(_) | Protocol::Socks4(_) => None,
        };
        let credentials = match given {
            Some(credentials) => Some(credentials),
            None => self.known(&url)?,
        };
        if url.is_secure && self.tls.is_none() {
            return Err(Error::usage("there is no TLS for it"));
        }
        let tls = self.tls.clone().filter(|_| url.is_secure);
        url.with(credentials, tls)
    }

    /// What the netrc file knows: of this user, or of any when nobody else was named.
    fn known(&self, url: &ProxyUrl) -> Result<Option<Credentials>, Error> {
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

    /// Whether there is a password or a key in it.
    pub(super) fn has_credentials(&self) -> bool {
        let has_key = self.tls.as_ref().map_or(false, TlsSpec::has_key);
        self.credentials.is_some() || self.netrc != Netrc::default() || has_key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(outfit: &ProxyDefaults, url: &str) -> Option<String> {
        let spec = outfit.complete(url.parse().unwrap()).unwrap();
        let credentials = spec.credentials.as_ref();
        credentials.map(|known| format!("{}:{}", known.user(), known.password().reveal()))
    }

    #[test]
    fn what_is_for_http_proxies_no_socks_proxy_is_told() {
        let outfit = ProxyDefaults {
            user: Some("joe".into()),
            credentials: Credentials::new("joe", Secret::new("x")).ok(),
            ..ProxyDefaults::default()
        };
        assert_eq!(user(&outfit, "http://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&outfit, "socks5h://a:1"), None);
        assert_eq!(user(&outfit, "socks4://a:1"), None);
        assert!(outfit.has_credentials() && !ProxyDefaults::default().has_credentials());
    }

    /// In the clear it would have heard the password.
    #[cfg(feature = "tls")]
    #[test]
    fn a_proxy_that_wants_tls_is_not_spoken_to_without() {
        let url = "https://a:1".parse().unwrap();
        let why = ProxyDefaults::default().complete(url).unwrap_err();
        assert_eq!(why.to_string(), "there is no TLS for it");
    }

    #[test]
    fn the_netrc_file_tells_by_host_and_for_the_user_that_was_given() {
        let netrc = "machine a login joe password x machine a login ann password y \
                     machine b login bob";
        let mut outfit = ProxyDefaults {
            netrc: Netrc::read(netrc).unwrap(),
            ..ProxyDefaults::default()
        };
        assert_eq!(user(&outfit, "http://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&outfit, "socks5h://a:1").as_deref(), Some("joe:x"));
        assert_eq!(user(&outfit, "socks4a://a:1").as_deref(), Some("joe:"));
        assert_eq!(user(&outfit, "http://b:1"), None, "it has no password");
        assert_eq!(user(&outfit, "socks4://b:1").as_deref(), Some("bob:"));
        assert_eq!(user(&outfit, "http://c:1"), None);
        outfit.user = Some("ann".into());
        assert_eq!(user(&outfit, "http://a:1").as_deref(), Some("ann:y"));
    }
}
