//! The CONNECT exchange: one request, one reply, and everything behind the reply kept.

use ptunnel::config::HostPort;
use ptunnel::route::Candidate;
use ptunnel::wire::{HeadReader, Malformed, Refusal, Response, Verdict, HEAD_LIMIT};
use ptunnel::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::net::Rewind;

/// What one read asks for: most replies come in one.
const CHUNK: usize = 2 * 1024;

/// Interim replies (1xx) that are skipped before a proxy is found to be talking nonsense.
const INTERIM: u8 = 8;

/// Asks a proxy for a tunnel; returns the stream with what came behind the head in front of it.
///
/// Nothing of the client's is sent before the 2xx (RFC 9931). After an error, or when it is
/// dropped early, the connection is closed: no byte of it can be trusted any more. It has no
/// limit in time of its own.
///
/// # Errors
///
/// The proxy's refusal, or why it gave no answer.
pub async fn connect(
    mut stream: TcpStream,
    proxy: &Candidate,
    destination: &HostPort,
) -> Result<Rewind<TcpStream>, Error> {
    let lost = |e| Error::exchange(proxy.peer(), e);
    let malformed = |why| Error::malformed(proxy.peer(), why);

    let request = proxy.request(destination).encode();
    stream.write_all(&request).await.map_err(lost)?;

    let mut head = HeadReader::new(HEAD_LIMIT);
    let mut interim = 0;
    loop {
        let piece = read_piece(&mut stream).await.map_err(lost)?;
        if piece.is_empty() {
            return Err(Error::ended(proxy.peer()));
        }
        let mut decoded = head.extend(&piece, Response::decode).map_err(malformed)?;
        while let Some(response) = decoded {
            match response.verdict().map_err(malformed)? {
                Verdict::Granted => return Ok(Rewind::new(stream, head.into_rest())),
                Verdict::Refused => {
                    let refusal = Refusal::new(response, &head.into_rest());
                    return Err(Error::refused(proxy.peer(), destination.clone(), refusal));
                }
                Verdict::Interim if interim == INTERIM => {
                    return Err(malformed(Malformed::TooManyInterim))
                }
                Verdict::Interim => interim += 1,
            }
            decoded = head.decode(Response::decode).map_err(malformed)?;
        }
    }
}

/// What comes next, up to [`CHUNK`] bytes; empty at the end.
///
/// In a `Vec`: an array that lives across an `.await` is a part of the future, and of every
/// future around it.
async fn read_piece(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(CHUNK);
    stream.read_buf(&mut piece).await?;
    Ok(piece)
}
