//! Names of options and peers in errors about TLS.

use super::TlsPeer;

/// The peer and the options that an error about TLS can name.
pub(crate) struct TlsMessages {
    /// The peer, as the subject of a sentence.
    pub(crate) name: &'static str,
    /// Option: the CAs to trust.
    pub(crate) cacert: &'static str,
    /// The certificate that ptunnel presents.
    pub(crate) presented: &'static str,
    /// Option: that certificate.
    pub(crate) cert: &'static str,
    /// Option: its key.
    pub(crate) key: &'static str,
    /// Option: skip verification.
    pub(crate) insecure: &'static str,
}

impl TlsPeer {
    /// The advice for a client without TLS.
    pub(crate) const HTTPS_IN_CLIENT: &'static str = "use https:// for the proxy in the client";

    /// Returns the options for this kind of peer.
    pub(crate) fn messages(self) -> &'static TlsMessages {
        match self {
            TlsPeer::Proxy => &TlsMessages {
                name: "the proxy",
                cacert: "--proxy-cacert",
                presented: "the client certificate",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
            },
            TlsPeer::Destination => &TlsMessages {
                name: "the destination",
                cacert: "--cacert",
                presented: "the client certificate",
                cert: "--cert",
                key: "--key",
                insecure: "--insecure",
            },
            TlsPeer::PacServer => &TlsMessages {
                name: "the server",
                cacert: "--proxy-cacert",
                presented: "the client certificate",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
            },
            TlsPeer::Client => &TlsMessages {
                name: "the client",
                cacert: "",
                presented: "the certificate",
                cert: "--listen-cert",
                key: "--listen-key",
                insecure: "",
            },
        }
    }
}
