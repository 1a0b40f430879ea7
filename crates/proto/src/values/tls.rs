//! The options of TLS, as given.

/// The kind of peer; each has its own options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsPeer {
    /// Proxies with `https://`.
    Proxy,
    /// Destinations with `tls://`.
    Destination,
    /// The server of a PAC file. It has the options of proxies, and gets no client certificate.
    PacServer,
    /// Clients of `-D` and of the embedded proxy: ptunnel is the server.
    Client,
}

/// A file that the TLS options name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// The CAs to trust.
    Cas,
    /// The client certificate, or that of the server.
    Certificate,
    /// The key of the certificate.
    Key,
}

/// The TLS options as given; `TlsSpec` in `ptunnel-core` loads their files.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The kind of peer.
    pub peer: TlsPeer,
    /// A PEM file with the CAs to trust, instead of the system's.
    pub cacert: Option<String>,
    /// A PEM file with the client certificate, or that of the server, and its intermediate certificates.
    pub cert: Option<String>,
    /// A PEM file with the key of the certificate; `None` if `cert` has it.
    pub key: Option<String>,
    /// The name that is sent (SNI) and verified, instead of the host of the peer's address.
    pub sni: Option<String>,
    /// Skips verification of the peer's certificate.
    pub insecure: bool,
    /// Accepts a FIN without close_notify as the end of the data. With proxies, it always is.
    pub ignore_unexpected_eof: bool,
}

impl TlsOptions {
    /// Returns the defaults: the system's CAs and no client certificate.
    pub fn of(peer: TlsPeer) -> TlsOptions {
        TlsOptions {
            peer,
            cacert: None,
            cert: None,
            key: None,
            sni: None,
            insecure: false,
            ignore_unexpected_eof: false,
        }
    }
}

/// The peer and the options that an error about TLS can name.
pub struct TlsMessages {
    /// The peer, as the subject of a sentence.
    pub name: &'static str,
    /// Option: the CAs to trust.
    pub cacert: &'static str,
    /// The certificate that ptunnel presents.
    pub presented: &'static str,
    /// Option: that certificate.
    pub cert: &'static str,
    /// Option: its key.
    pub key: &'static str,
    /// Option: skip verification.
    pub insecure: &'static str,
}

impl TlsPeer {
    /// The advice for a client without TLS.
    pub const HTTPS_IN_CLIENT: &'static str = "use https:// for the proxy in the client";

    /// Returns the options for this kind of peer.
    pub fn messages(self) -> &'static TlsMessages {
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
