//! TLS with a proxy or a destination, over a socket or over the tunnel that the proxy before granted.

use std::io;
use std::pin::Pin;

use log::{debug, warn};
use ptunnel::config::TlsSpec;
use ptunnel::observe::diagnose::{observe, PathEvent};
use ptunnel::upstream::tls::TlsSetup;
use ptunnel::{Error, Peer};
use tokio_openssl::SslStream;

use crate::io::{Below, Rewind, Upstream};

/// Returns `stream` itself without `tls`, otherwise a TLS stream over it, once the handshake is done.
/// It has no time limit.
///
/// # Errors
///
/// Those of the handshake; the connection is closed then.
pub async fn secure(
    stream: Rewind<Upstream>,
    peer: &Peer,
    tls: &Option<TlsSpec>,
) -> Result<Rewind<Upstream>, Error> {
    let Some(spec) = tls else {
        return Ok(stream);
    };
    observe(|| PathEvent::TlsStarted);
    let failed = |e| Error::secure(peer.clone(), e);
    let session = TlsSetup::new(spec, peer.address()).map_err(failed)?;
    let below = Below::new(stream, session.peer, session.ending);
    let stream = SslStream::new(session.ssl, below).map_err(|e| failed(io::Error::other(e)))?;
    let report = session.report;
    let mut stream = Box::new(stream);
    let shaken = Pin::new(&mut *stream).connect().await;
    shaken.map_err(|e| failed(report.explain(e)))?;
    debug!("{peer}: speaks {}", stream.ssl().version_str());
    let warning = report.warning();
    if !observe(|| PathEvent::TlsDone(stream.ssl(), peer, warning.as_deref())) {
        if let Some(warning) = &warning {
            warn!("{peer}: {warning}");
        }
    }
    Ok(Rewind::new(Upstream::Secure(stream), Vec::new()))
}
