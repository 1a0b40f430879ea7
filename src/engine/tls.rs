//! TLS with a proxy or a destination, over a socket or over the tunnel that the proxy before granted.

use futures::future::{self, Either};
use futures::Future;

use crate::config::TlsSpec;
use crate::engine::io::{Rewind, Transport, Upstream};
use crate::error::{Error, Peer};

/// Resolves to `stream` itself without `tls`, otherwise to a TLS stream over it, once the handshake
/// is done.
///
/// Fails with `Error::secure`. Then, and when the future is dropped, the connection is closed. It
/// has no time limit: the caller sets one.
pub fn secure<S: Transport + 'static>(
    stream: Rewind<Upstream<S>>,
    peer: Peer,
    tls: &Option<TlsSpec>,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error> {
    let spec = match tls {
        None => return Either::A(future::ok(stream)),
        Some(spec) => spec,
    };
    let secured = match Upstream::bare(stream) {
        Ok(socket) => Either::A(layer::secure(socket, peer, spec)),
        Err(layered) => Either::B(layer::secure(layered, peer, spec)),
    };
    Either::B(secured.map(|stream| Rewind::new(Upstream::Layered(stream), Vec::new())))
}

#[cfg(feature = "tls")]
mod layer {
    use futures::future::{self, Either};
    use futures::Future;
    use log::{debug, warn};

    use crate::config::TlsSpec;
    use crate::engine::io::{TlsStream, Transport};
    use crate::engine::poll_with;
    use crate::error::{Error, Peer};
    use crate::observe::diagnose::{observe, PathEvent};
    use crate::upstream::tls::{TlsSetup, VerifyReport};

    pub(super) fn secure<S: Transport + 'static>(
        stream: S,
        peer: Peer,
        spec: &TlsSpec,
    ) -> impl Future<Item = Box<dyn Transport>, Error = Error> {
        observe(|| PathEvent::TlsStarted);
        let begun = TlsSetup::new(spec, peer.address()).and_then(|session| {
            let report = session.report.clone();
            Ok((TlsStream::new(session, stream)?, report))
        });
        match begun {
            Ok((stream, report)) => {
                let handshake = poll_with(stream, |stream| stream.poll_handshake());
                Either::A(handshake.then(move |done| match done {
                    Ok((stream, ())) => {
                        report_done(&stream, &report, &peer);
                        Ok(Box::new(stream) as Box<dyn Transport>)
                    }
                    Err(e) => Err(Error::secure(peer, report.explain(e))),
                }))
            }
            Err(e) => Either::B(future::err(Error::secure(peer, e))),
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
}

#[cfg(not(feature = "tls"))]
mod layer {
    use futures::future::Empty;

    use crate::config::TlsSpec;
    use crate::engine::io::Transport;
    use crate::error::{Error, Peer};

    pub(super) fn secure<S>(_: S, _: Peer, spec: &TlsSpec) -> Empty<Box<dyn Transport>, Error> {
        match *spec {}
    }
}
