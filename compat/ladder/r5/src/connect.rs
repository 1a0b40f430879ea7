//! The CONNECT exchange on one connection: a [`Negotiation`], driven over a stream.

use ptunnel::observe::diagnose::{observe, PathEvent};
use ptunnel::proto::{Negotiation, NegotiationStep, Outcome};
use ptunnel::upstream::Hop;
use ptunnel::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::io::{Rewind, Upstream};

/// Bytes that one read asks for; most replies come in one.
const CHUNK: usize = 2 * 1024;

/// Asks a proxy for a tunnel; returns the stream with what came behind the head in front of it,
/// or the negotiation when the proxy wants to be asked on another connection.
///
/// Nothing of the client's is sent before the 2xx (RFC 9931). After an error, when the proxy
/// wants a new connection, or when it is dropped early, the connection is closed: no byte of it
/// can be trusted any more. It has no limit in time of its own.
///
/// # Errors
///
/// The proxy's refusal, or why it gave no answer.
pub async fn connect(
    mut stream: Rewind<Upstream>,
    mut negotiation: Negotiation,
    hop: &Hop,
) -> Result<Outcome<Rewind<Rewind<Upstream>>>, Error> {
    let mut request = negotiation.begin();
    loop {
        let piece = match turn(&mut stream, &request).await {
            Ok(piece) if !piece.is_empty() => piece,
            _ if negotiation.may_redial() => return Ok(Outcome::Redial(Box::new(negotiation))),
            Ok(_) => return Err(Error::ended(hop.peer())),
            Err(e) => return Err(Error::negotiation(hop.peer(), e)),
        };
        let step = negotiation.feed(&piece);
        request = match step.map_err(|why| Error::malformed(hop.peer(), why))? {
            NegotiationStep::Read => Vec::new(),
            NegotiationStep::Send(request) => {
                observe(|| PathEvent::RequestRepeated(&negotiation));
                request
            }
            NegotiationStep::Redial => return Ok(Outcome::Redial(Box::new(negotiation))),
            NegotiationStep::Granted(rest) => {
                return Ok(Outcome::Granted(Rewind::new(stream, rest)))
            }
            NegotiationStep::Refused(refusal) => {
                return Err(Error::refused(hop.peer(), hop.target().clone(), *refusal))
            }
        };
    }
}

/// Sends what is to be sent, and returns what comes next; see [`read_piece`].
async fn turn(stream: &mut Rewind<Upstream>, request: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(request).await?;
    read_piece(stream).await
}

/// What comes next, up to [`CHUNK`] bytes; empty at the end.
///
/// In a `Vec`: an array that lives across an `.await` is a part of the future, and of every
/// future around it.
async fn read_piece(stream: &mut Rewind<Upstream>) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(CHUNK);
    stream.read_buf(&mut piece).await?;
    Ok(piece)
}
