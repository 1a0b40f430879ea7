//! One client of a tunnel: opens its destination, relays its bytes, and logs its end.
//!
//! ```text
//!   abort_on_reset(open) ──▶ relay ──▶ the session's record
//!       └ the client resets: the opening is dropped, and the record says so
//! ```

use std::io;

use futures::future::{self, Either};
use futures::{Async, Future};

use crate::io::{Socket, Transport, Upstream};
use crate::{boxed, poll_with, BoxFuture, Engine, Opened, Tunnel};
use ptunnel_core::config::Destination;
use ptunnel_core::error::Error;
use ptunnel_core::observe::access_log::{ClientSession, LogContext, LogScope};
use ptunnel_core::observe::session::SessionSummary;

impl Engine {
    /// Opens the tunnel for one client, relays its bytes and logs its end.
    ///
    /// The future owns the client. It closes the connection if the tunnel can't be opened or has
    /// ended, and resets it if the tunnel is cut. An error means that the tunnel wasn't opened and
    /// no byte was read from the client. If the client resets its connection before that, the
    /// opening is dropped, which is no error.
    pub fn carry(
        &self,
        client: Socket,
        session: impl Into<ClientSession>,
        tunnel: &Tunnel,
    ) -> impl Future<Item = SessionSummary, Error = Error> {
        let engine = self.clone();
        let destination = tunnel.destination().clone();
        let session = session.into();
        let open = logged_as(session.context(), || self.open(tunnel));
        let opening = abort_on_reset(client, open);
        opening.and_then(move |outcome| {
            let (client, opened) = match outcome {
                Ok(opened) => opened,
                Err(e) => {
                    let summary = session.left(&destination, e);
                    return Either::A(boxed(future::ok(summary)));
                }
            };
            engine.carry_opened(client, opened, session, destination)
        })
    }

    /// Relays the client's bytes over the opened path, and logs the tunnel's end.
    pub(super) fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        opened: Opened,
        session: ClientSession,
        destination: impl Into<Destination>,
    ) -> Either<BoxFuture<SessionSummary>, impl Future<Item = SessionSummary, Error = Error>> {
        let log = session.opened(destination, opened.path);
        let recorder = log.byte_recorder();
        // The usual relay is between two sockets. The others are boxed, to take no memory in its
        // future.
        match Upstream::bare(opened.stream) {
            Ok(stream) => {
                let relay = self.relay(client, stream, recorder);
                Either::B(relay.then(|end| Ok(log.log(end))))
            }
            Err(stream) => {
                let relay = self.relay(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(log.log(end)))))
            }
        }
    }
}

/// Resolves to the client and to the item of `open`, or to the client's error alone if the client
/// resets its connection first: a proxy that hangs must not hold resources that no client waits
/// for.
///
/// Nothing is read from the client, and its FIN ends nothing: a client that has sent everything
/// waits for the reply. Dropping the future closes both connections.
pub fn abort_on_reset<C: Transport, T>(
    client: C,
    mut open: BoxFuture<T>,
) -> impl Future<Item = Result<(C, T), io::Error>, Error = Error> {
    let outcome = poll_with(client, move |client| {
        Ok(match open.poll()? {
            Async::Ready(opened) => Async::Ready(Ok(opened)),
            Async::NotReady => match client.check() {
                Ok(()) => Async::NotReady,
                Err(e) => Async::Ready(Err(e)),
            },
        })
    });
    outcome.map(|(client, opened)| Ok((client, opened?)))
}

/// Returns the future that `open` makes. The log lines of `open` and of the future carry the fields
/// of `context`.
///
/// Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
pub fn logged_as<F>(context: &LogContext, open: impl FnOnce() -> F) -> BoxFuture<F::Item>
where
    F: Future<Error = Error> + 'static,
{
    let mut scope = LogScope::of(context);
    let mut opening = scope.enter(open);
    boxed(future::poll_fn(move || scope.enter(|| opening.poll())))
}
