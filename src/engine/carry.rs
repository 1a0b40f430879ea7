//! One client of a tunnel: its destination is opened, its bytes are relayed, its end is logged.
//!
//! ```text
//!   AbortOnReset(open) ──▶ relay ──▶ the session's record
//!       └ the client resets: the opening is dropped, and the record says so
//! ```

use std::io;

use futures::future::{self, Either};
use futures::{Async, Future, Poll};

use super::{boxed, BoxFuture, Engine, Opened, Tunnel};
use crate::config::Destination;
use crate::engine::io::{Rewind, Socket, Transport, Upstream};
use crate::error::Error;
use crate::observe::access_log::{ClientSession, LogContext, LogScope};
use crate::observe::session::SessionSummary;

impl Engine {
    /// Opens the tunnel for one client, relays its bytes and logs its end.
    ///
    /// The future owns the client. It closes the connection if the tunnel can't be opened or has
    /// ended, and resets it if the tunnel is cut. An error means that the tunnel wasn't opened: no
    /// byte was read from the client. If the client resets its connection before, the opening is
    /// dropped; that is no error.
    pub fn carry(
        &self,
        client: Socket,
        session: impl Into<ClientSession>,
        tunnel: &Tunnel,
    ) -> impl Future<Item = SessionSummary, Error = Error> {
        let engine = self.clone();
        let destination = tunnel.destination().clone();
        let session = session.into();
        let opening = AbortOnReset::new(client, session.context(), || self.open(tunnel));
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

    /// Relays the client's bytes over what was opened for it, and logs its end.
    pub(super) fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        opened: Opened,
        session: ClientSession,
        destination: impl Into<Destination>,
    ) -> Either<BoxFuture<SessionSummary>, impl Future<Item = SessionSummary, Error = Error>> {
        let log = session.opened(destination, opened.path);
        // The usual relay is of two sockets and records nothing. The others are of other types, lest
        // its parts be shared with them and no longer inlined.
        match (Upstream::bare(opened.stream), log.byte_recorder()) {
            (Ok(stream), None) => {
                let relay = self.relay(client, stream);
                Either::B(relay.then(|end| Ok(log.log(end))))
            }
            (Ok(stream), recorder) => {
                let client = Rewind::new(client, Vec::new());
                let relay = self.recorded_relay(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(log.log(end)))))
            }
            (Err(stream), recorder) => {
                let relay = self.recorded_relay(client, stream, recorder);
                Either::A(boxed(relay.then(|end| Ok(log.log(end)))))
            }
        }
    }
}

/// A tunnel's opening, which ends early if the client resets its connection: a proxy that hangs must
/// not hold resources that no client waits for.
///
/// Resolves to the client and to what `open` resolves to, or to the client's error alone if that
/// comes first. Nothing is read from the client, and its FIN ends nothing: a client that has sent
/// everything waits for the answer. Dropping the future closes both connections.
#[must_use = "futures do nothing unless polled"]
pub struct AbortOnReset<C, T> {
    client: Option<C>,
    scope: LogScope,
    /// Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
    open: BoxFuture<T>,
}

impl<C: Transport, T> AbortOnReset<C, T> {
    /// Begins what `open` returns; what that logs carries the fields of `context`.
    pub fn new<F>(client: C, context: &LogContext, open: impl FnOnce() -> F) -> AbortOnReset<C, T>
    where
        F: Future<Item = T, Error = Error> + 'static,
    {
        let mut scope = LogScope::of(context);
        AbortOnReset {
            client: Some(client),
            open: Box::new(scope.enter(open)),
            scope,
        }
    }
}

impl<C: Transport, T> Future for AbortOnReset<C, T> {
    type Item = Result<(C, T), io::Error>;
    type Error = Error;

    fn poll(&mut self) -> Poll<Self::Item, Error> {
        let AbortOnReset { scope, open, .. } = self;
        let opened = scope.enter(|| open.poll())?;
        let mut client = self
            .client
            .take()
            .expect("AbortOnReset polled after it ended");
        if let Async::Ready(opened) = opened {
            return Ok(Async::Ready(Ok((client, opened))));
        }
        match client.check() {
            Ok(()) => {
                self.client = Some(client);
                Ok(Async::NotReady)
            }
            Err(e) => Ok(Async::Ready(Err(e))),
        }
    }
}
