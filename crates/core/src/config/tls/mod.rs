//! TLS settings for proxies, destinations and clients: CAs, certificate, verification.
//!
//! Must not hold the settings of one connection, which are in `upstream::tls`. `ptunnel-cli` makes
//! the options, [`ProxySpec`](super::ProxySpec) and [`Destination`](super::Destination) hold the
//! loaded settings.

#[cfg(not(feature = "tls"))]
mod disabled;
#[cfg(feature = "tls")]
mod load;

#[cfg(not(feature = "tls"))]
pub use self::disabled::TlsSpec;
#[cfg(feature = "tls")]
pub use self::load::TlsSpec;
