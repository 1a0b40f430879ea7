//! One proxy asked for one target, on as many connections as it wants for that.

use futures::future::{self, Either};
use futures::Future;
use log::debug;

use super::session::{boxed, BoxFuture};
use super::{secure, Connect};
use crate::engine::io::{Rewind, Transport, Upstream};
use crate::error::Error;
use crate::proto::{Negotiation, Outcome};
use crate::upstream::Hop;

/// Asks over `stream` first, and over what `reach` resolves to when the proxy wants its challenge
/// answered on another connection; each in TLS where the proxy speaks that.
///
/// Resolves to the stream that the proxy granted, which belongs to the caller; dropping the future
/// closes the connection in use. It has no limit in time of its own: wrap it in a
/// [`Deadline`](super::limits::Deadline).
pub fn negotiate<S, R, F>(
    stream: Rewind<Upstream<S>>,
    hop: Hop,
    reach: R,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error>
where
    S: Transport + 'static,
    R: Fn() -> F + 'static,
    F: Future<Item = Rewind<Upstream<S>>, Error = Error> + 'static,
{
    let negotiation = hop.negotiation();
    ask_on(stream, negotiation, hop, reach)
}

/// One connection of it; the next one is a box behind its end, since it is hardly ever needed.
fn ask_on<S, R, F>(
    stream: Rewind<Upstream<S>>,
    negotiation: Negotiation,
    hop: Hop,
    reach: R,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error>
where
    S: Transport + 'static,
    R: Fn() -> F + 'static,
    F: Future<Item = Rewind<Upstream<S>>, Error = Error> + 'static,
{
    match &hop.spec().tls {
        None => Either::A(ask_over(stream, negotiation, hop, reach)),
        Some(_) => {
            let secured = secure(stream, hop.peer(), &hop.spec().tls);
            let ask = move |stream| ask_over(stream, negotiation, hop, reach);
            Either::B(boxed(secured.and_then(ask)))
        }
    }
}

/// The same, over the stream that the proxy is spoken to on.
fn ask_over<S, R, F>(
    stream: Rewind<Upstream<S>>,
    negotiation: Negotiation,
    hop: Hop,
    reach: R,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error>
where
    S: Transport + 'static,
    R: Fn() -> F + 'static,
    F: Future<Item = Rewind<Upstream<S>>, Error = Error> + 'static,
{
    Connect::new(stream, negotiation).then(move |outcome| {
        Either::A(future::result(match outcome {
            Ok(Outcome::Granted(stream)) => Ok(stream.flatten()),
            Ok(Outcome::Redial(negotiation)) => {
                debug!("{}: answering on a new connection", hop.peer());
                return Either::B(ask_again(*negotiation, hop, reach));
            }
            Err(failure) => Err(failure.at(hop.peer(), hop.target().clone())),
        }))
    })
}

/// The same on another connection.
fn ask_again<S, R, F>(
    negotiation: Negotiation,
    hop: Hop,
    reach: R,
) -> BoxFuture<Rewind<Upstream<S>>>
where
    S: Transport + 'static,
    R: Fn() -> F + 'static,
    F: Future<Item = Rewind<Upstream<S>>, Error = Error> + 'static,
{
    Box::new(reach().then(move |reached| match reached {
        Ok(stream) => Either::A(ask_on(stream, negotiation, hop, reach)),
        Err(e) => Either::B(future::err(Error::redial(hop.peer(), e))),
    }))
}
