//! What is said to whom about TLS.

use super::TlsPeer;

/// What an error of TLS names for somebody to do.
pub(crate) struct TlsMessages {
    /// The option for the CAs to trust.
    pub(crate) cacert: &'static str,
    /// That for our certificate.
    pub(crate) cert: &'static str,
    /// That for its key.
    pub(crate) key: &'static str,
    /// That to trust anybody.
    pub(crate) insecure: &'static str,
    /// Where the other side speaks none.
    pub(crate) otherwise: &'static str,
}

impl TlsPeer {
    /// Those of this kind.
    pub(crate) fn terms(self) -> &'static TlsMessages {
        match self {
            TlsPeer::Proxy => &TlsMessages {
                cacert: "--proxy-cacert",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
                otherwise: "try http://",
            },
            TlsPeer::Destination => &TlsMessages {
                cacert: "--cacert",
                cert: "--cert",
                key: "--key",
                insecure: "--insecure",
                otherwise: "try it without tls://",
            },
        }
    }
}
