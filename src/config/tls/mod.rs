//! How a proxy's or a destination's TLS is verified, and who we are to it: files, read and found
//! good.

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

/// Whom TLS is spoken with: each kind has options of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsPeer {
    /// Proxies with `https://`.
    Proxy,
    /// Destinations with `tls://`.
    Destination,
}

/// What an error of TLS names for somebody to do.
pub(crate) struct TlsTerms {
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
    pub(crate) fn terms(self) -> &'static TlsTerms {
        match self {
            TlsPeer::Proxy => &TlsTerms {
                cacert: "--proxy-cacert",
                cert: "--proxy-cert",
                key: "--proxy-key",
                insecure: "--proxy-insecure",
                otherwise: "try http://",
            },
            TlsPeer::Destination => &TlsTerms {
                cacert: "--cacert",
                cert: "--cert",
                key: "--key",
                insecure: "--insecure",
                otherwise: "try it without tls://",
            },
        }
    }
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
        }
    }
}
