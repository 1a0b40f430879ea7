//! TLS with a proxy or a destination, over a socket or over the tunnel that the proxy before granted.

use log::{debug, warn};
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};

use crate::config::TlsSpec;
use crate::engine::io::{Rewind, TlsStream, Transport01 as Transport, Upstream};
use crate::error::{Error, Peer};
use crate::observe::diagnose::{observe, PathEvent};
use crate::upstream::tls::{TlsSetup, VerifyReport};

/// Returns `stream` itself without `tls`, otherwise a TLS stream over it, once the handshake is done.
/// It has no time limit: the caller sets one.
///
/// # Errors
///
/// `Error::secure`. Then, and when the future is dropped, the connection is closed.
pub async fn secure(
    stream: Rewind<Upstream>,
    peer: Peer,
    tls: &Option<TlsSpec>,
) -> Result<Rewind<Upstream>, Error> {
    let spec = match tls {
        None => return Ok(stream),
        Some(spec) => spec,
    };
    let stream = match Upstream::bare(stream) {
        Ok(socket) => layer(socket, peer, spec).await?,
        Err(layered) => layer(layered, peer, spec).await?,
    };
    Ok(Rewind::new(Upstream::Layered(stream), Vec::new()))
}

async fn layer<S: Transport + 'static>(
    stream: S,
    peer: Peer,
    spec: &TlsSpec,
) -> Result<Box<dyn Transport>, Error> {
    observe(|| PathEvent::TlsStarted);
    let stream = AsTokio::with_half_close(stream, |_| Ok(())); // its own `shutdown` sends FIN
    let begun = TlsSetup::new(spec, peer.address()).and_then(|session| {
        let report = session.report.clone();
        Ok((TlsStream::new(session, stream)?, report))
    });
    let (mut stream, report) = begun.map_err(|e| Error::secure(peer.clone(), e))?;
    match stream.handshake().await {
        Ok(()) => {
            report_done(&stream, &report, &peer);
            Ok(Box::new(AsIo01::new(stream, ShutdownPolicy::Fin)))
        }
        Err(e) => Err(Error::secure(peer, report.explain(e))),
    }
}

/// Reports the protocol version, and the faults that verification has ignored.
fn report_done<S: Transport>(
    stream: &TlsStream<AsTokio<S>>,
    report: &VerifyReport,
    peer: &Peer,
) {
    debug!("{}: speaks {}", peer, stream.ssl().version_str());
    let warning = report.warning();
    if !observe(|| PathEvent::TlsDone(stream.ssl(), peer, warning.as_deref())) {
        if let Some(warning) = &warning {
            warn!("{}: {}", peer, warning);
        }
    }
}
