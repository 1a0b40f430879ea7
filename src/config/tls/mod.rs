//! How a proxy's or a destination's TLS is verified, and who we are to it: files, read and found
//! good.

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

/// Whom TLS is spoken with: each kind has options of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsPeer {
    /// Proxies with `https://`.
    Proxy,
    /// Destinations with `tls://`.
    Destination,
}

/// What may be said about TLS, as it is written; [`load`](TlsOptions::load) makes it a
/// [`TlsSpec`].
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// Whom it is said of.
    pub peer: TlsPeer,
    /// A PEM file with the CAs to trust, instead of the system's.
    pub cacert: Option<String>,
    /// A PEM file with our certificate, and those between it and its CA.
    pub cert: Option<String>,
    /// A PEM file with its key, when that isn't in the same one.
    pub key: Option<String>,
    /// Whoever answers is taken for the peer.
    pub insecure: bool,
    /// An end without close_notify is an end. Behind a proxy it always is.
    pub ignore_unexpected_eof: bool,
}

impl TlsOptions {
    /// Nothing is said: the system is trusted, and nobody is told who we are.
    pub fn of(peer: TlsPeer) -> TlsOptions {
        TlsOptions {
            peer,
            cacert: None,
            cert: None,
            key: None,
            insecure: false,
            ignore_unexpected_eof: false,
        }
    }
}
