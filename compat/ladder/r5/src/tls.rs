//! What precedes the bytes for a proxy, a destination or a client, on a socket or on the tunnel that the
//! proxy before granted: the PROXY header, and TLS.

use std::io::{self, ErrorKind};

use log::{debug, warn};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::io::{Rewind, TlsStream, Transport, Upstream};
use ptunnel_core::config::TlsSpec;
use ptunnel_core::error::{Error, Peer};
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::upstream::tls::{TlsSetup, VerifyReport};
use ptunnel_proto::{StartTls, StartTlsFault, Step};

/// Returns `stream` itself without `tls`, otherwise a TLS stream over it, once the handshake is done.
/// After STARTTLS, the server's greeting is in front of it. It has no time limit: the caller sets one.
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
    let (stream, front) = match Upstream::bare(stream) {
        Ok(socket) => layer(socket, peer, spec).await?,
        Err(layered) => layer(layered, peer, spec).await?,
    };
    Ok(Rewind::new(Upstream::Layered(stream), front))
}

/// Sends a PROXY header as the first bytes of `stream`. It has no time limit: the caller sets one.
///
/// # Errors
///
/// `Error::negotiation`. Then, and when the future is dropped, the connection is closed.
pub async fn announce(
    mut stream: Rewind<Upstream>,
    header: Vec<u8>,
    peer: Peer,
) -> Result<Rewind<Upstream>, Error> {
    match stream.write_all(&header).await {
        Ok(()) => Ok(stream),
        Err(e) => Err(Error::negotiation(peer, e)),
    }
}

async fn layer<S: Transport + 'static>(
    mut stream: S,
    peer: Peer,
    spec: &TlsSpec,
) -> Result<(Box<dyn Transport>, Vec<u8>), Error> {
    observe(|| PathEvent::TlsStarted);
    let front = match StartTls::new(spec.start()) {
        None => Vec::new(),
        Some(exchange) => start_tls(&mut stream, exchange)
            .await
            .map_err(|e| Error::secure(peer.clone(), e))?,
    };
    let begun = TlsSetup::new(spec, peer.address()).and_then(|session| {
        let report = session.report.clone();
        Ok((TlsStream::new(session, stream)?, report))
    });
    let (mut stream, report) = begun.map_err(|e| Error::secure(peer.clone(), e))?;
    match stream.handshake().await {
        Ok(()) => {
            report_done(&stream, &report, &peer);
            Ok((Box::new(stream), front))
        }
        Err(e) => Err(Error::secure(peer, report.explain(e))),
    }
}

/// Returns the bytes that the client gets before those from TLS.
async fn start_tls<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    mut exchange: StartTls,
) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    loop {
        let step = exchange.feed(&piece);
        piece.clear();
        match step.map_err(|e| io::Error::new(ErrorKind::InvalidData, e))? {
            Step::Done(front) => return Ok(front),
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Read => {
                if stream.read_buf(&mut piece).await? == 0 {
                    return Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        StartTlsFault::Ended,
                    ));
                }
            }
        }
    }
}

/// Reports the protocol version, and the faults that verification has ignored.
fn report_done<S: Transport>(stream: &TlsStream<S>, report: &VerifyReport, peer: &Peer) {
    debug!("{}: speaks {}", peer, stream.ssl().version_str());
    let warning = report.warning();
    if !observe(|| PathEvent::TlsDone(stream.ssl(), peer, warning.as_deref())) {
        if let Some(warning) = &warning {
            warn!("{}: {}", peer, warning);
        }
    }
}
