//! The CONNECT negotiation with one proxy, over as many connections as its authentication needs.
//!
//! ```text
//!   [TLS] ──▶ Connect ──granted──▶ the stream
//!     ▲         │
//!     └─ reach ─┘ the proxy wants its challenge answered on a new connection
//! ```

use futures::future::{self, Either};
use futures::Future;
use log::debug;

use crate::io::{Rewind, Transport, Upstream};
use crate::{boxed, secure, BoxFuture, Connect};
use ptunnel_core::error::Error;
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::upstream::Hop;
use ptunnel_proto::{Negotiation, Outcome};

/// Drives `negotiation` over `stream`, and over the connection that `reach` resolves to each time
/// the proxy of `hop` requires another one; each in TLS if the proxy speaks TLS.
///
/// Resolves to the stream that the proxy granted, which belongs to the caller. Dropping the future
/// closes the connection in use. It has no time limit: the caller sets one.
pub fn negotiate<S: Transport + 'static>(
    stream: Rewind<Upstream<S>>,
    negotiation: Negotiation,
    hop: Hop,
    reach: impl Fn() -> BoxFuture<Rewind<Upstream<S>>> + 'static,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error> {
    observe(|| PathEvent::HopStarted(&hop));
    match &hop.spec().tls {
        None => Either::A(negotiate_over(stream, negotiation, hop, reach)),
        Some(_) => {
            let secured = secure(stream, hop.peer(), &hop.spec().tls);
            let negotiate = move |stream| negotiate_over(stream, negotiation, hop, reach);
            Either::B(boxed(secured.and_then(negotiate)))
        }
    }
}

/// Drives `negotiation` over a connection that is in TLS already, if the proxy speaks TLS.
fn negotiate_over<S: Transport + 'static>(
    stream: Rewind<Upstream<S>>,
    negotiation: Negotiation,
    hop: Hop,
    reach: impl Fn() -> BoxFuture<Rewind<Upstream<S>>> + 'static,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error> {
    observe(|| PathEvent::NegotiationStarted(&negotiation));
    Connect::new(stream, negotiation).then(move |outcome| {
        Either::A(future::result(match outcome {
            Ok(Outcome::Granted(stream)) => {
                observe(|| PathEvent::Granted);
                Ok(stream.flatten())
            }
            Ok(Outcome::Redial(negotiation)) => {
                observe(|| PathEvent::RedialStarted(&negotiation));
                debug!("{}: answering on a new connection", hop.peer());
                return Either::B(redial(*negotiation, hop, reach));
            }
            Err(failure) => Err(failure.at(hop.peer(), hop.target().clone())),
        }))
    })
}

/// Drives `negotiation` over a new connection. Boxed, since it contains [`negotiate`], and rare.
fn redial<S: Transport + 'static>(
    negotiation: Negotiation,
    hop: Hop,
    reach: impl Fn() -> BoxFuture<Rewind<Upstream<S>>> + 'static,
) -> BoxFuture<Rewind<Upstream<S>>> {
    boxed(reach().then(move |reached| match reached {
        Ok(stream) => Either::A(negotiate(stream, negotiation, hop, reach)),
        Err(e) => Either::B(future::err(Error::redial(hop.peer(), e))),
    }))
}
