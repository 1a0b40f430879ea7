//! One proxy asked for one target, on as many connections as it wants for that.

use futures::future::{self, Either, Loop};
use futures::Future;
use log::debug;

use super::{secure, Connect};
use crate::error::Error;
use crate::net::{Rewind, Transport, Upstream};
use crate::route::Leg;
use crate::wire::Outcome;

/// Asks over `stream` first, and over what `reach` resolves to when the proxy wants its challenge
/// answered on another connection; each in TLS where the proxy speaks that.
///
/// Resolves to the stream that the proxy granted, which belongs to the caller; dropping the future
/// closes the connection in use. It has no limit in time of its own: wrap it in a
/// [`Deadline`](super::limits::Deadline).
pub fn ask<S, R, F>(
    stream: Rewind<Upstream<S>>,
    leg: Leg,
    reach: R,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error>
where
    S: Transport + 'static,
    R: Fn() -> F + Clone,
    F: Future<Item = Rewind<Upstream<S>>, Error = Error>,
{
    let exchange = leg.exchange();
    future::loop_fn((stream, exchange, leg), move |(stream, exchange, leg)| {
        let reach = reach.clone();
        secure(stream, leg.peer(), &leg.spec().tls).and_then(move |stream| {
            Connect::new(stream, exchange).then(move |outcome| match outcome {
                Ok(Outcome::Granted(stream)) => {
                    Either::A(future::ok(Loop::Break(stream.flatten())))
                }
                Ok(Outcome::Redial(exchange)) => {
                    debug!("{}: answering on a new connection", leg.peer());
                    let reached = reach().then(move |reached| {
                        let stream = reached.map_err(|e| Error::redial(leg.peer(), e))?;
                        Ok(Loop::Continue((stream, *exchange, leg)))
                    });
                    Either::B(reached)
                }
                Err(failure) => {
                    let error = failure.at(leg.peer(), leg.target().clone());
                    Either::A(future::err(error))
                }
            })
        })
    })
}
