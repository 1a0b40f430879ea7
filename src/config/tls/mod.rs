//! How a proxy's TLS is verified, and who we are to it: files, read and found good.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod load;

#[cfg(not(feature = "tls"))]
pub use self::absent::TlsSpec;
#[cfg(feature = "tls")]
pub use self::load::TlsSpec;

#[cfg(not(feature = "tls"))]
pub(super) use self::absent::MISSING;

/// What may be said about TLS, as it is written; [`load`](TlsOptions::load) makes it a
/// [`TlsSpec`].
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// A PEM file with the CAs to trust, instead of the system's.
    pub cacert: Option<String>,
    /// A PEM file with our certificate, and those between it and its CA.
    pub cert: Option<String>,
    /// A PEM file with its key, when that isn't in the same one.
    pub key: Option<String>,
    /// Whoever answers is taken for the proxy.
    pub insecure: bool,
}
