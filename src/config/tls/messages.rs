//! Names of options and peers in errors about TLS.

use super::TlsPeer;

/// The peer and the options that an error about TLS can name.
pub(crate) struct TlsMessages {
    /// The peer, as the subject of a sentence.
    pub(crate) name: &'static str,
    /// Option: the CAs to trust.
    pub(crate) cacert: &'static str,
    /// Option: the client certificate.
    pub(crate) cert: &'static str,
    /// Option: the key of the client certificate.
    pub(crate) key: &'static str,
    /// Option: skip verification.
    pub(crate) insecure: &'static str,
}

impl TlsPeer {
    /// Returns the options for this kind of peer.
    pub(crate) fn messages(self) -> &'static TlsMessages {
        match self {
            TlsPeer::Proxy => &TlsMessages {
                name: "the proxy",
                cacert: "--proxy-cacert",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
            },
            TlsPeer::Destination => &TlsMessages {
                name: "the destination",
                cacert: "--cacert",
                cert: "--cert",
                key: "--key",
                insecure: "--insecure",
            },
            TlsPeer::PacServer => &TlsMessages {
                name: "the server",
                cacert: "--proxy-cacert",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
            },
        }
    }
}
