//! TLS settings for proxies, destinations and clients: CAs, certificate, verification.
//!
//! Must not hold the settings of one connection, which are in `upstream::tls`. `cli` makes the
//! options, `proxy` and `destination` hold the loaded settings, and `upstream`, `engine` and the
//! rungs of `compat/` use them.

#[cfg(not(feature = "tls"))]
mod disabled;
#[cfg(feature = "tls")]
mod load;
#[cfg(feature = "tls")]
mod messages;

#[cfg(not(feature = "tls"))]
pub use self::disabled::TlsSpec;
#[cfg(feature = "tls")]
pub use self::load::TlsSpec;

#[cfg(not(feature = "tls"))]
pub(super) use self::disabled::{available, MISSING};
#[cfg(feature = "tls")]
pub(super) use self::load::available;

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

/// The TLS options as given; [`load`](TlsOptions::load) makes a [`TlsSpec`] of them.
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
