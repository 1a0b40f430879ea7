//! Clients that name their destination (`-D`, `--serve-proxy`, `--redirect`): a handshake in front of
//! the tunnel.
//!
//! ```text
//!   handshake ──▶ opening, as for a tunnel ──▶ reply, if any ──▶ relay
//!       └───────────────┴──▶ rejection, in the client's protocol ──▶ lingering close
//! ```
//!
//! [`Inbound`] provides what differs: the protocols, the policy and the replies.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::io::{Rewind, Socket, Transport, Upstream};
use crate::limits::within;
use crate::reject::reject;
use crate::{abort_on_reset, forwarding, logged_as, secure, Engine, Opened};
use ptunnel_core::error::Error;
use ptunnel_core::inbound::{ConnectRequest, Inbound, InboundHandshake, Rejection};
use ptunnel_core::observe::access_log::ClientSession;
use ptunnel_core::os::sys::ReservedFd;
use ptunnel_proto::Step;

/// Size of one read; most requests fit.
const CHUNK: usize = 2 * 1024;

impl Engine {
    /// Serves a client that names its destination. The future owns the client.
    ///
    /// # Errors
    ///
    /// The reason of the rejection, or that no reply could be sent.
    pub async fn serve_inbound(
        &self,
        client: Socket,
        session: impl Into<ClientSession>,
        inbound: &impl Inbound,
    ) -> Result<(), Error> {
        serve_inbound(self, None, client, session.into(), inbound).await
    }
}

/// Serves a client with a descriptor that is reserved for its destination until the client has
/// named it: otherwise clients that are accepted meanwhile could take the last one.
pub(super) async fn serve_inbound(
    engine: &Engine,
    reserved: Option<ReservedFd>,
    client: Socket,
    session: ClientSession,
    inbound: &impl Inbound,
) -> Result<(), Error> {
    // Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
    let opening = Box::pin(async {
        let limit = engine.settings().timeouts.handshake;
        let client = Rewind::new(Upstream::Bare(client), Vec::new());
        let handshake = async {
            let client = secure(client, session.peer(), inbound.tls()).await?;
            read_handshake(client, inbound.handshake(session.ip())).await
        };
        let late = || Error::rejected("no request within the handshake timeout");
        let (client, request) = within(handshake, limit, late).await?;
        drop(reserved);
        let client = client.flatten();
        match request {
            Ok(request) => open(client, request, inbound, session, engine).await,
            Err(rejection) => Err(reject(client, rejection).await),
        }
    });
    if let Some((client, opened, session, request)) = opening.await? {
        let destination = request.destination;
        match Upstream::bare(client) {
            Ok(client) => drop(
                engine
                    .carry_opened(client, opened, session, destination)
                    .await,
            ),
            Err(client) => drop(
                engine
                    .carry_opened(client, opened, session, destination)
                    .await,
            ),
        }
    }
    Ok(())
}

/// Opens the tunnel and replies, or rejects the client. If the client resets its connection before
/// that, the opening is dropped, and there is nothing to relay, which is no error.
async fn open(
    mut client: Rewind<Upstream>,
    request: ConnectRequest,
    inbound: &impl Inbound,
    session: ClientSession,
    engine: &Engine,
) -> Result<Option<(Rewind<Upstream>, Opened, ClientSession, ConnectRequest)>, Error> {
    let tunnel = inbound.tunnel(request.destination.clone());
    let session = session.of(request.user.clone());
    let open = logged_as(session.context(), engine.open(&tunnel));
    match abort_on_reset(&mut client, open).await {
        Ok(Ok(opened)) => match client.write_all(&request.protocol.granted()).await {
            Ok(()) => {
                let opened = match request.protocol.request_boundary() {
                    Some(boundary) => Opened {
                        stream: forwarding(opened.stream, boundary),
                        ..opened
                    },
                    None => opened,
                };
                Ok(Some((client, opened, session, request)))
            }
            Err(e) => Err(Error::other("cannot send a reply", e).to(request.destination)),
        },
        Ok(Err(error)) => {
            let rejection = inbound.failed(&request, error);
            Err(reject(client, rejection).await)
        }
        Err(e) => {
            session.left(&request.destination, e);
            Ok(None)
        }
    }
}

/// Reads a client's request, and sends the replies that its protocol requires before that.
///
/// Returns the client, with the bytes that followed the request put back in front, and the request or
/// its rejection.
async fn read_handshake<S: Transport>(
    mut client: S,
    mut handshake: InboundHandshake,
) -> Result<(Rewind<S>, Result<ConnectRequest, Rejection>), Error> {
    let mut chunk = Vec::new();
    let request = loop {
        match handshake.feed(&chunk) {
            Ok(Step::Read) if handshake.awaits_check() => {
                poll_fn(|context| is_checked(&handshake, context)).await;
                chunk.clear();
            }
            Ok(Step::Read) => {
                chunk = read(&mut client, handshake.silence_limit()).await?;
                if chunk.is_empty() {
                    break handshake.end().ok_or_else(|| Error::left(None))?;
                }
            }
            Ok(Step::Send(answer)) => {
                let sent = client.write_all(&answer).await;
                sent.map_err(|e| Error::other("cannot send a reply", e))?;
                chunk.clear();
            }
            Ok(Step::Done(request)) => break Ok(request),
            Err(rejection) => break Err(rejection),
        }
    };
    Ok((Rewind::new(client, handshake.into_rest()), request))
}

/// Is ready once no thread checks the client's password any more.
fn is_checked(handshake: &InboundHandshake, context: &mut Context<'_>) -> Poll<()> {
    let waker = context.waker().clone();
    match handshake.is_checking(|| Box::new(|| waker.wake())) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    }
}

/// Reads the next bytes of a request; none at the client's end, or once it has been silent for
/// `limit`.
async fn read(client: &mut impl Transport, limit: Option<Duration>) -> Result<Vec<u8>, Error> {
    let mut chunk = Vec::with_capacity(CHUNK);
    let reading = client.read_buf(&mut chunk);
    let read = match limit {
        Some(limit) => timeout(limit, reading).await.unwrap_or(Ok(0)),
        None => reading.await,
    };
    read.map_err(|e| Error::left(Some(e)))?;
    Ok(chunk)
}
