//! The CONNECT exchange on one connection: a [`Negotiation`], driven over a stream.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::io::{Rewind, Upstream};
use ptunnel_core::error::Error;
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::upstream::Hop;
use ptunnel_proto::{Negotiation, NegotiationStep, Outcome};

/// Size of one read; most replies fit.
const CHUNK: usize = 2 * 1024;

/// Requests a tunnel from a proxy. Returns the stream, with the bytes that followed the head in
/// front, or the negotiation when the proxy requires another connection.
///
/// No byte of the client is sent before the 2xx (RFC 9931). After an error, when the proxy wants a new
/// connection, and when the future is dropped, the connection is closed: no byte of it can be trusted
/// any more. It has no time limit.
///
/// # Errors
///
/// The proxy's refusal, or why there is no reply.
pub async fn connect(
    mut stream: Rewind<Upstream>,
    mut negotiation: Negotiation,
    hop: &Hop,
) -> Result<Outcome<Rewind<Rewind<Upstream>>>, Error> {
    let mut request = negotiation.begin();
    loop {
        let step = match turn(&mut stream, &request).await {
            Ok(piece) if !piece.is_empty() => negotiation.feed(&piece),
            lost => negotiation.end().map(Ok).ok_or_else(|| match lost {
                Ok(_) => Error::ended(hop.peer()),
                Err(e) => Error::negotiation(hop.peer(), e),
            })?,
        };
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

/// Sends the message, and returns the next bytes; see [`read_piece`].
async fn turn(stream: &mut Rewind<Upstream>, request: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(request).await?;
    read_piece(stream, CHUNK).await
}

/// Returns the next bytes, about `most` of them; none at the end.
///
/// In a `Vec`: an array that lives across an `.await` is a part of the future, and of every
/// future around it.
pub(super) async fn read_piece(stream: &mut Rewind<Upstream>, most: usize) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(most);
    stream.read_buf(&mut piece).await?;
    Ok(piece)
}
