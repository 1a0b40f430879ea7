//! Clients that name their destination (`-D`, `--serve-proxy`): a handshake in front of the tunnel.
//!
//! ```text
//!   handshake ──▶ opening, as for a tunnel ──▶ reply, if any ──▶ relay
//!       └───────────────┴──▶ rejection, in the client's protocol ──▶ lingering close
//! ```
//!
//! [`Inbound`] says what differs: the protocols, the policy, the replies.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use ptunnel::inbound::{ConnectRequest, Inbound, InboundHandshake, Rejection};
use ptunnel::observe::access_log::{ClientSession, SessionLog};
use ptunnel::proto::Step;
use ptunnel::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::io::{Rewind, Transport};
use crate::limits::within;
use crate::lingering_close::reject;
use crate::session::unless_left;
use crate::{Engine, Links, Opened};

/// Bytes that one read asks for; most requests come in one.
const CHUNK: usize = 2 * 1024;

/// Serves a client that names its destination. The future owns the client. `reserved` is held for the
/// destination until the client has named it: otherwise clients that are accepted meanwhile could take
/// the last descriptor.
///
/// # Errors
///
/// The reason for which the client was rejected, or no reply could be sent.
pub(crate) async fn serve<L: Links, C: Transport + 'static>(
    engine: &Rc<Engine<L>>,
    reserved: Option<OwnedFd>,
    client: C,
    session: ClientSession,
    inbound: &impl Inbound,
) -> Result<(), Error> {
    // Boxed, so that an idle tunnel doesn't keep the memory that its opening took.
    let opened = Box::pin(open(engine, reserved, client, session, inbound)).await?;
    if let Some((client, stream, log)) = opened {
        let end = engine
            .links
            .carry_opened(client, stream, log.byte_recorder())
            .await;
        log.log(end);
    }
    Ok(())
}

/// Does everything before the relay. Returns `None` when the client left before its destination was
/// connected.
async fn open<L: Links, C: Transport>(
    engine: &Rc<Engine<L>>,
    reserved: Option<OwnedFd>,
    client: C,
    session: ClientSession,
    inbound: &impl Inbound,
) -> Result<Option<(Rewind<C>, L::Stream, SessionLog)>, Error> {
    let limit = engine.settings.timeouts.handshake;
    let late = || Error::rejected("no request within the handshake timeout");
    let handshake = read_handshake(client, inbound.handshake());
    let (mut client, request) = within(limit, late, handshake).await?;
    drop(reserved);
    let request = match request {
        Ok(request) => request,
        Err(rejection) => return Err(reject(client, rejection).await),
    };
    let ConnectRequest {
        destination,
        protocol,
    } = &request;
    let tunnel = inbound.tunnel(destination.clone());
    let opening = L::open(engine, &tunnel);
    let opened = unless_left(&client, session.context(), opening).await;
    let Opened { stream, path } = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => return Err(reject(client, inbound.failed(&request, error)).await),
        Err(e) => {
            session.left(destination, e);
            return Ok(None);
        }
    };
    client
        .write_all(&protocol.granted())
        .await
        .map_err(|e| Error::other("cannot answer", e).to(destination))?;
    let stream = match protocol.request_boundary() {
        Some(boundary) => L::forwarding(stream, boundary),
        None => stream,
    };
    let log = session.opened(request.destination, path);
    Ok(Some((client, stream, log)))
}

/// Reads a client's request, and sends the replies that its protocol wants before. Returns the client,
/// with the bytes that followed the request put back in front, and the request or its rejection.
async fn read_handshake<C: Transport>(
    mut client: C,
    mut handshake: InboundHandshake,
) -> Result<(Rewind<C>, Result<ConnectRequest, Rejection>), Error> {
    let mut piece = Vec::new();
    let request = loop {
        match handshake.feed(&piece) {
            Ok(Step::Read) => piece = read_piece(&mut client).await?,
            Ok(Step::Send(answer)) => {
                let sent = client.write_all(&answer).await;
                sent.map_err(|e| Error::other("cannot answer", e))?;
                piece.clear();
            }
            Ok(Step::Done(request)) => break Ok(request),
            Err(rejection) => break Err(rejection),
        }
    };
    Ok((Rewind::new(client, handshake.into_rest()), request))
}

/// Reads the next bytes of a request, at least one.
async fn read_piece(client: &mut impl Transport) -> Result<Vec<u8>, Error> {
    let mut piece = Vec::with_capacity(CHUNK);
    match client.read_buf(&mut piece).await {
        Ok(0) => Err(Error::left(None)),
        Ok(_) => Ok(piece),
        Err(e) => Err(Error::left(Some(e))),
    }
}
