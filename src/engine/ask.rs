//! One proxy asked for one destination, on as many connections as it wants for that.

use futures::future::{self, Either, Loop};
use futures::Future;
use log::debug;

use super::{secure, Connect};
use crate::config::HostPort;
use crate::error::Error;
use crate::net::{Rewind, Transport, Upstream};
use crate::route::Candidate;
use crate::wire::Outcome;

/// Asks over `stream` first, and over what `dial` connects when the proxy wants its challenge
/// answered on another connection; each in TLS where the proxy speaks that.
///
/// Resolves to the stream that the proxy granted, which belongs to the caller; dropping the future
/// closes the connection in use. It has no limit in time of its own: wrap it in a
/// [`Deadline`](super::limits::Deadline).
pub fn ask<S, D, F>(
    stream: S,
    candidate: Candidate,
    destination: HostPort,
    dial: D,
) -> impl Future<Item = Rewind<Upstream<S>>, Error = Error>
where
    S: Transport + 'static,
    D: Fn(&Candidate) -> F + Clone,
    F: Future<Item = S, Error = Error>,
{
    let exchange = candidate.exchange(&destination);
    let first = (stream, exchange, candidate, destination);
    future::loop_fn(first, move |(stream, exchange, candidate, destination)| {
        let dial = dial.clone();
        secure(stream, &candidate).and_then(move |stream| {
            Connect::new(stream, exchange).then(move |outcome| match outcome {
                Ok(Outcome::Granted(stream)) => Either::A(future::ok(Loop::Break(stream))),
                Ok(Outcome::Redial(exchange)) => {
                    debug!("{}: answering on a new connection", candidate.peer());
                    let dialled = dial(&candidate).then(move |dialled| {
                        let stream = dialled.map_err(|e| Error::redial(candidate.peer(), e))?;
                        Ok(Loop::Continue((stream, *exchange, candidate, destination)))
                    });
                    Either::B(dialled)
                }
                Err(failure) => {
                    let error = failure.at(candidate.peer(), destination);
                    Either::A(future::err(error))
                }
            })
        })
    })
}
