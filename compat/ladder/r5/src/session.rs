//! One client of a tunnel: opens its destination, relays its bytes, and logs its end.
//!
//! ```text
//!   abort_on_reset(open) ──▶ relay ──▶ the session's record
//!       └ the client resets: the opening is dropped, and the record says so
//! ```

use std::future::{poll_fn, Future};
use std::io;
use std::pin::pin;
use std::task::Poll;

use crate::io::{Transport, Upstream};
use crate::{Engine, Opened, Tunnel};
use ptunnel_core::config::Destination;
use ptunnel_core::error::Error;
use ptunnel_core::observe::access_log::{ClientSession, LogContext, LogScope};
use ptunnel_core::observe::session::SessionSummary;

impl Engine {
    /// Opens the tunnel for one client, relays its bytes and logs its end.
    ///
    /// The future owns the client. It closes the connection if the tunnel can't be opened or has
    /// ended, and resets it if the tunnel is cut. If the client resets its connection before that,
    /// the opening is dropped, which is no error.
    ///
    /// # Errors
    ///
    /// The tunnel wasn't opened, and no byte was read from the client.
    pub async fn carry<C: Transport + 'static>(
        &self,
        mut client: C,
        session: impl Into<ClientSession>,
        tunnel: &Tunnel,
    ) -> Result<SessionSummary, Error> {
        let destination = tunnel.destination().clone();
        let session = session.into();
        // Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
        let opening = Box::pin(async {
            let open = logged_as(session.context(), self.open(tunnel));
            abort_on_reset(&mut client, open).await
        });
        let opened = match opening.await {
            Ok(opened) => opened?,
            Err(e) => return Ok(session.left(&destination, e)),
        };
        Ok(self
            .carry_opened(client, opened, session, destination)
            .await)
    }

    /// Relays the client's bytes over the opened path, and logs the tunnel's end.
    pub(super) async fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        opened: Opened,
        session: ClientSession,
        destination: impl Into<Destination>,
    ) -> SessionSummary {
        let log = session.opened(destination, opened.path);
        let recorder = log.byte_recorder();
        // The usual relay is between two sockets. The others are boxed, to take no memory in its
        // future.
        let end = match Upstream::bare(opened.stream) {
            Ok(stream) => self.relay(client, stream, recorder).await,
            Err(stream) => Box::pin(self.relay(client, stream, recorder)).await,
        };
        log.log(end)
    }
}

/// Returns the result of `open`, or the client's error if the client resets its connection first: a
/// proxy that hangs must not hold resources that no client waits for.
///
/// Nothing is read from the client, and its FIN ends nothing: a client that has sent everything
/// waits for the reply.
///
/// # Errors
///
/// The client's error, such as a reset.
pub async fn abort_on_reset<C: Transport, T>(
    client: &mut C,
    open: impl Future<Output = T>,
) -> io::Result<T> {
    let mut open = pin!(open);
    poll_fn(|cx| match open.as_mut().poll(cx) {
        Poll::Ready(opened) => Poll::Ready(Ok(opened)),
        Poll::Pending => match client.check(cx) {
            Ok(()) => Poll::Pending,
            Err(e) => Poll::Ready(Err(e)),
        },
    })
    .await
}

/// Returns the result of `open`. Its log lines carry the fields of `context`.
pub async fn logged_as<F: Future>(context: &LogContext, open: F) -> F::Output {
    let mut opening = pin!(open);
    let mut scope = LogScope::of(context);
    poll_fn(|cx| scope.enter(|| opening.as_mut().poll(cx))).await
}
