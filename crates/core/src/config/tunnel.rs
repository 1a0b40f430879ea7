//! Tunnels, with the TLS settings of their destinations.

use ptunnel_proto::values::{ListenSpec, ParseError, TunnelUrl};

use super::{Destination, TlsSpec};

/// A tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelSpec {
    /// The address to listen on.
    pub listen: ListenSpec,
    /// The destination of the clients.
    pub destination: Destination,
}

impl TunnelSpec {
    /// Returns the tunnel, with the TLS settings for its destination.
    ///
    /// # Errors
    ///
    /// The errors of [`Destination::of`].
    pub fn of(url: TunnelUrl, tls: &Option<TlsSpec>) -> Result<TunnelSpec, ParseError> {
        Ok(TunnelSpec {
            listen: url.listen,
            destination: Destination::of(url.destination, tls)?,
        })
    }
}
