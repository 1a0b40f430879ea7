//! What precedes the bytes for a proxy, a destination or a client, on a socket or on the tunnel that the
//! proxy before granted: the PROXY header, and TLS.

use futures::future::{self, Either};
use futures::Future;
use tokio_io::io as aio;
use tokio_io::AsyncWrite;

use crate::io::{Rewind, Socket, Transport, Upstream};
use ptunnel_core::config::TlsSpec;
use ptunnel_core::error::{Error, Peer};

/// Resolves to `stream` itself without `tls`, otherwise to a TLS stream over it, once the handshake
/// is done. After STARTTLS, the server's greeting is in front of it.
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
    Either::B(secured.map(|(stream, front)| Rewind::new(Upstream::Layered(stream), front)))
}

/// Sends a PROXY header as the first bytes of `stream`.
///
/// Fails with `Error::negotiation`; then, and when the future is dropped, the connection is closed.
/// It has no time limit: the caller sets one.
pub fn announce<S: AsyncWrite>(
    stream: S,
    header: Vec<u8>,
    peer: Peer,
) -> impl Future<Item = S, Error = Error> {
    aio::write_all(stream, header).then(|sent| match sent {
        Ok((stream, _)) => Ok(stream),
        Err(e) => Err(Error::negotiation(peer, e)),
    })
}

/// As [`secure`], with a client that has connected.
pub fn accept(
    client: Socket,
    peer: Peer,
    tls: &Option<TlsSpec>,
) -> impl Future<Item = Rewind<Upstream>, Error = Error> {
    let stream = Rewind::new(Upstream::Bare(client), Vec::new());
    secure(stream, peer, tls)
}

#[cfg(feature = "tls")]
mod layer {
    use std::io::{self, ErrorKind::InvalidData, ErrorKind::UnexpectedEof};

    use futures::future::{self, Either, Loop};
    use futures::Future;
    use log::{debug, warn};
    use tokio_io::io::{read, write_all};

    use crate::io::{TlsStream, Transport};
    use crate::poll_with;
    use ptunnel_core::config::TlsSpec;
    use ptunnel_core::error::{Error, Peer};
    use ptunnel_core::observe::diagnose::{observe, PathEvent};
    use ptunnel_core::upstream::tls::{TlsSetup, VerifyReport};
    use ptunnel_proto::{StartTls, StartTlsFault, Step};

    /// Resolves to the TLS stream, and to the bytes that precede those from it.
    pub(super) fn secure<S: Transport + 'static>(
        stream: S,
        peer: Peer,
        spec: &TlsSpec,
    ) -> impl Future<Item = (Box<dyn Transport>, Vec<u8>), Error = Error> {
        observe(|| PathEvent::TlsStarted);
        let (spec, failed) = (spec.clone(), peer.clone());
        let started = match StartTls::new(spec.start()) {
            None => Either::A(future::ok((stream, Vec::new()))),
            Some(exchange) => Either::B(start_tls(stream, exchange)),
        };
        let started = started.map_err(move |e| Error::secure(failed, e));
        started.and_then(move |(stream, front)| {
            let handshake = handshake(stream, peer, &spec);
            handshake.map(|stream| (stream, front))
        })
    }

    /// Resolves to the stream, and to the bytes that the client gets before those from TLS.
    fn start_tls<S: Transport + 'static>(
        stream: S,
        exchange: StartTls,
    ) -> impl Future<Item = (S, Vec<u8>), Error = io::Error> {
        type Next<T> = Box<dyn Future<Item = T, Error = io::Error>>;
        let state = (stream, exchange, Vec::new());
        future::loop_fn(state, |(stream, mut exchange, piece)| -> Next<_> {
            match exchange.feed(&piece) {
                Err(fault) => Box::new(future::err(io::Error::new(InvalidData, fault))),
                Ok(Step::Done(front)) => Box::new(future::ok(Loop::Break((stream, front)))),
                Ok(Step::Send(bytes)) => {
                    let sent = write_all(stream, bytes);
                    Box::new(sent.map(|(stream, _)| Loop::Continue((stream, exchange, Vec::new()))))
                }
                Ok(Step::Read) => {
                    let read = read(stream, vec![0; 512]);
                    Box::new(read.and_then(|(stream, mut piece, count)| {
                        if count == 0 {
                            return Err(io::Error::new(UnexpectedEof, StartTlsFault::Ended));
                        }
                        piece.truncate(count);
                        Ok(Loop::Continue((stream, exchange, piece)))
                    }))
                }
            }
        })
    }

    fn handshake<S: Transport + 'static>(
        stream: S,
        peer: Peer,
        spec: &TlsSpec,
    ) -> impl Future<Item = Box<dyn Transport>, Error = Error> {
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

    use crate::io::Transport;
    use ptunnel_core::config::TlsSpec;
    use ptunnel_core::error::{Error, Peer};

    type Secured = (Box<dyn Transport>, Vec<u8>);

    pub(super) fn secure<S>(_: S, _: Peer, spec: &TlsSpec) -> Empty<Secured, Error> {
        match *spec {}
    }
}
