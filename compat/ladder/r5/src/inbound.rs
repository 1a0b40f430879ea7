//! Clients that name their destination themselves (`-D`): a handshake in front of the chain.
//!
//! ```text
//!   handshake ──▶ opening, as for a tunnel ──▶ our answer, if any ──▶ relay
//!       └───────────────┴──▶ no, in the client's own language, and the end
//! ```

use std::os::fd::OwnedFd;
use std::rc::Rc;

use ptunnel::inbound::{ConnectRequest, DynamicConfig, Handshake, Rejection, Step};
use ptunnel::observe::access_log::{ClientSession, SessionLog};
use ptunnel::Error;
use tokio::io::AsyncWriteExt;

use crate::io::{Rewind, Transport};
use crate::limits::within;
use crate::lingering_close::tell;
use crate::proxy::read_piece;
use crate::session::unless_left;
use crate::{Engine, Links, Opened};

/// Serves one client, which belongs to the future, with a descriptor put aside for its way: until
/// it has said where to, others who come would take the last.
///
/// # Errors
///
/// What the client was told, or why it couldn't be told anything.
pub(crate) async fn serve<L: Links, C: Transport + 'static>(
    engine: &Rc<Engine<L>>,
    spare: Option<OwnedFd>,
    client: C,
    visit: ClientSession,
    guests: &DynamicConfig,
) -> Result<(), Error> {
    // Boxed: an idle tunnel shall not weigh what opening it took.
    let admitted = Box::pin(admit(engine, spare, client, visit, guests)).await?;
    if let Some((client, way, line)) = admitted {
        let end = engine
            .links
            .carry_opened(client, way, line.byte_recorder())
            .await;
        line.log(end);
    }
    Ok(())
}

/// Everything before the relay; nothing when the client left before its destination was
/// connected.
async fn admit<L: Links, C: Transport>(
    engine: &Rc<Engine<L>>,
    spare: Option<OwnedFd>,
    client: C,
    visit: ClientSession,
    guests: &DynamicConfig,
) -> Result<Option<(Rewind<C>, L::Way, SessionLog)>, Error> {
    let limit = engine.settings.timeouts.handshake;
    let late = || Error::denied("no request within the handshake timeout");
    let (mut client, request) = within(limit, late, hear(client, guests.handshake())).await?;
    drop(spare);
    let ConnectRequest {
        destination,
        language,
    } = match request {
        Ok(asked) => asked,
        Err(Rejection { reply, why }) => return Err(tell(client, reply, Error::denied(why)).await),
    };
    let tunnel = guests.tunnel(destination.clone());
    let opening = L::open(engine, &tunnel);
    let opened = unless_left(&client, visit.context(), opening).await;
    let Opened { stream, via } = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => return Err(tell(client, language.failed(&error), error).await),
        Err(e) => {
            visit.left(&destination, e);
            return Ok(None);
        }
    };
    client
        .write_all(&language.granted())
        .await
        .map_err(|e| Error::other("cannot answer", e).to(&destination))?;
    let stream = match language.passage() {
        Some(passage) => L::forwarding(stream, passage),
        None => stream,
    };
    Ok(Some((client, stream, visit.opened(destination, via))))
}

/// Hears a client out: what it wants, and the client with what came behind.
async fn hear<C: Transport>(
    mut client: C,
    mut handshake: Handshake,
) -> Result<(Rewind<C>, Result<ConnectRequest, Rejection>), Error> {
    let mut piece = Vec::new();
    let request = loop {
        match handshake.feed(&piece) {
            Step::Read => piece = read_piece(&mut client).await?,
            Step::Send(answer) => {
                let sent = client.write_all(&answer).await;
                sent.map_err(|e| Error::other("cannot answer", e))?;
                piece.clear();
            }
            Step::ConnectRequest(asked) => break Ok(asked),
            Step::Rejection(denied) => break Err(denied),
        }
    };
    Ok((Rewind::new(client, handshake.into_rest()), request))
}
