//! A PAC file: its text, or where it is fetched.

use std::sync::Arc;
use std::time::Duration;

use ptunnel_proto::values::PacUrl;

use super::{ProxyDefaults, TlsSpec, Version};

/// A proxy auto-configuration file, and the settings of the proxies that it names.
///
/// [`upstream::pac::read`](crate::upstream::pac::read) makes one from a path, and runs it;
/// [`upstream::pac::at`](crate::upstream::pac::at) makes one that is fetched. Two are equal if they
/// have the same name, source and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacFile {
    /// Its path or URL, escaped for messages, without secrets.
    pub name: String,
    /// Where its text is from.
    pub source: PacSource,
    /// Credentials and TLS for its proxies.
    pub proxy_defaults: ProxyDefaults,
}

impl PacFile {
    /// Returns whether the server of the file, or a proxy that it names, gets credentials.
    pub(super) fn has_credentials(&self) -> bool {
        let is_for_server = match &self.source {
            PacSource::Text(_) => false,
            PacSource::Server(fetch) => fetch.url.has_secret(),
        };
        is_for_server || self.proxy_defaults.has_credentials()
    }
}

/// Where the text of a PAC file is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacSource {
    /// A local file with this text: JavaScript that defines FindProxyForURL.
    Text(Arc<str>),
    /// A server, from which it is fetched again and again.
    Server(PacFetch),
}

/// How a PAC file is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacFetch {
    /// Where it is.
    pub url: PacUrl,
    /// TLS to the server; `None` for plain text.
    pub tls: Option<TlsSpec>,
    /// The version of the server's addresses that are tried.
    pub version: Version,
    /// The time from one successful fetch to the next; `None` fetches once.
    pub interval: Option<Duration>,
}

impl PacFetch {
    /// The default interval.
    pub const INTERVAL: Duration = Duration::from_secs(30 * 60);
}
