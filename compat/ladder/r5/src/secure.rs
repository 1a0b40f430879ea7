//! The stream to a proxy as that wants to be spoken to: in the clear, or in TLS; over a socket, or
//! over what the proxy before it granted.

use std::io;
use std::pin::Pin;

use log::{debug, warn};
use ptunnel::route::Leg;
use ptunnel::tls::Session;
use ptunnel::Error;
use tokio_openssl::SslStream;

use crate::net::{Rewind, Upstream};

/// Returns `stream` itself for a proxy that is spoken to in the clear, otherwise TLS over it, once
/// the handshake is done. It has no limit in time of its own.
///
/// # Errors
///
/// Why there is no TLS; the connection is closed then.
pub async fn secure(stream: Rewind<Upstream>, leg: &Leg) -> Result<Rewind<Upstream>, Error> {
    let Some(spec) = &leg.spec().tls else {
        return Ok(stream);
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
    Ok(Rewind::new(Upstream::Secure(stream), Vec::new()))
}
