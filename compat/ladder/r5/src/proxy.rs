//! The other side of CONNECT: a proxy of our own, on the same engine.
//!
//! ```text
//!   reading the head ──▶ judging ──▶ dialling ──▶ 200 ──▶ relay
//!                           └───────────┴──▶ 400 403 405 407 502 503 504, and the end
//! ```
//!
//! It connects directly, to whatever the client names and the user allows.

use std::os::fd::OwnedFd;

use ptunnel::inbound::policy::{HttpRejection, Policy, GRANTED};
use ptunnel::observe::access_log::{ClientSession, SessionLog};
use ptunnel::proto::{ConnectHead, HeadReader, Malformed, HEAD_LIMIT};
use ptunnel::upstream::UpstreamPath;
use ptunnel::{Error, Peer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::io::{Rewind, Tcp, Transport};
use crate::limits::within;
use crate::lingering_close::tell;
use crate::session::unless_left;
use crate::{Engine, Links};

/// What one read asks for: most requests come in one.
const CHUNK: usize = 2 * 1024;

impl<L: Links> Engine<L> {
    /// Serves one client of the embedded proxy, which belongs to the future, with a descriptor put
    /// aside for its destination: until the client has said which one, others who come would
    /// take the last.
    ///
    /// # Errors
    ///
    /// What the client was told, or why it couldn't be told anything.
    pub(crate) async fn serve_proxy<C: Transport + 'static>(
        &self,
        spare: Option<OwnedFd>,
        client: C,
        visit: ClientSession,
        policy: &Policy,
    ) -> Result<(), Error> {
        // Boxed: an idle tunnel shall not weigh what opening it took.
        let admitted = Box::pin(self.admit(spare, client, visit, policy)).await?;
        if let Some((client, upstream, line)) = admitted {
            let end = match line.byte_recorder() {
                None => self.links.relay(client, upstream, ()).await,
                meter => {
                    // Of other types, as in a tunnel.
                    let upstream = Rewind::new(upstream, Vec::new());
                    Box::pin(self.links.relay(client, upstream, meter)).await
                }
            };
            line.log(end);
        }
        Ok(())
    }

    /// Everything before the relay; nothing when the client left before its destination was
    /// connected.
    async fn admit<C: Transport>(
        &self,
        spare: Option<OwnedFd>,
        client: C,
        visit: ClientSession,
        policy: &Policy,
    ) -> Result<Option<(Rewind<C>, Tcp, SessionLog)>, Error> {
        let limit = self.settings.timeouts.handshake;
        let late = || Error::denied("no request within the handshake timeout");
        let (mut client, request) = within(limit, late, read_request(client)).await?;
        drop(spare);
        let destination = match policy.judge(request) {
            Ok(destination) => destination,
            Err(denial) => return Err(deny(client, denial).await),
        };
        let peer = Peer::Destination(destination.clone());
        let family = policy.family(&destination);
        let dial = self.dial_by(&self.settings.guests, &peer, &destination, family);
        let upstream = match unless_left(&client, visit.context(), dial).await {
            Ok(Ok(upstream)) => upstream,
            Ok(Err(e)) => {
                let denial = HttpRejection::unreachable(&e).directly_to(&destination);
                return Err(deny(client, denial).await);
            }
            Err(e) => {
                visit.left(&destination, e);
                return Ok(None);
            }
        };
        client
            .write_all(GRANTED)
            .await
            .map_err(|e| Error::other("cannot answer", e).to(&destination))?;
        let line = visit.opened(destination, UpstreamPath::DIRECTLY);
        Ok(Some((client, upstream, line)))
    }
}

/// Reads the head of a request: what it says, and the client with what came behind it.
async fn read_request<C: Transport>(
    mut client: C,
) -> Result<(Rewind<C>, Result<ConnectHead, Malformed>), Error> {
    let mut head = HeadReader::new(HEAD_LIMIT);
    let request = loop {
        let piece = read_piece(&mut client).await?;
        if let Some(request) = head.extend(&piece, ConnectHead::decode).transpose() {
            break request;
        }
    };
    Ok((Rewind::new(client, head.into_rest()), request))
}

/// What comes next of a request; never nothing.
pub(crate) async fn read_piece(client: &mut impl Transport) -> Result<Vec<u8>, Error> {
    let mut piece = Vec::with_capacity(CHUNK);
    match client.read_buf(&mut piece).await {
        Ok(0) => Err(Error::left(None)),
        Ok(_) => Ok(piece),
        Err(e) => Err(Error::left(Some(e))),
    }
}

async fn deny(client: Rewind<impl Transport>, no: HttpRejection) -> Error {
    tell(client, no.reply(), no.into_error()).await
}
