//! The stream to a proxy as that wants to be spoken to: in the clear, or in TLS.

use std::io;
use std::pin::Pin;

use log::{debug, warn};
use ptunnel::route::Leg;
use ptunnel::tls::Session;
use ptunnel::Error;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use crate::net::Upstream;

/// Returns `stream` itself for a proxy that is spoken to in the clear, otherwise TLS over it, once
/// the handshake is done. It has no limit in time of its own.
///
/// # Errors
///
/// Why there is no TLS; the connection is closed then.
pub async fn secure(stream: TcpStream, leg: &Leg) -> Result<Upstream, Error> {
    let Some(spec) = &leg.spec().tls else {
        return Ok(Upstream::Bare(stream));
    };
    let peer = leg.peer();
    let failed = |e| Error::secure(leg.peer(), e);
    let Session { ssl, doubt } = Session::new(spec, &leg.spec().address.host).map_err(failed)?;
    let stream = SslStream::new(ssl, stream).map_err(|e| failed(io::Error::other(e)))?;
    let mut stream = Box::new(stream);
    let shaken = Pin::new(&mut *stream).connect().await;
    shaken.map_err(|e| failed(doubt.explain(e)))?;
    debug!("{peer}: speaks {}", stream.ssl().version_str());
    if let Some(warning) = doubt.warning() {
        warn!("{peer}: {warning}");
    }
    Ok(Upstream::Secure(stream))
}
