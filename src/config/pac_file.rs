//! A PAC file as text.

use std::sync::Arc;

use super::ProxyDefaults;

/// A proxy auto-configuration file, and the settings of the proxies that it names.
///
/// [`upstream::pac::read`](crate::upstream::pac::read) makes one from a path, and runs it; two are
/// equal if they have the same name, text and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacFile {
    /// Its path, escaped for messages.
    pub name: String,
    /// JavaScript that defines FindProxyForURL.
    pub text: Arc<str>,
    /// Credentials and TLS for its proxies.
    pub proxy_defaults: ProxyDefaults,
}
