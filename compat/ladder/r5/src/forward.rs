//! The stream of a forwarded request (`http://` over `--serve-proxy`): the destination gets that
//! one request, and the client gets the reply to it.
//!
//! Invariant: no byte after the request is sent, and no byte after the reply is read, even if the
//! client or the server continues to send.

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::io::{Rewind, Transport, Upstream};
use ptunnel_proto::{Reply, RequestBoundary};

/// Returns a stream that carries one request and its reply.
///
/// Bytes written after the request are discarded, as if they had been sent. Reads end after the
/// reply, whether or not the server ends the connection. Once both are complete, the stream is shut
/// down. A FIN of the client before that isn't passed on, since some servers, such as squid, would
/// drop the reply; the end of an incomplete request is passed on. Reads and writes fail with
/// `InvalidData` if the end of the message can't be determined.
pub fn forwarding<S>(stream: Rewind<Upstream<S>>, boundary: RequestBoundary) -> Rewind<Upstream<S>>
where
    S: Transport + 'static,
{
    let forwarding = Forwarding::new(stream, boundary);
    Rewind::new(Upstream::Layered(Box::new(forwarding)), Vec::new())
}

struct Forwarding<S> {
    stream: S,
    boundary: RequestBoundary,
    reply: Reply,
    /// The stream was shut down, or can't be written to any more.
    has_ended: bool,
}

impl<S> Forwarding<S> {
    fn new(stream: S, boundary: RequestBoundary) -> Forwarding<S> {
        Forwarding {
            stream,
            boundary,
            reply: boundary.reply(),
            has_ended: false,
        }
    }
}

impl<S: AsyncWrite + Unpin> Forwarding<S> {
    /// Shuts the stream down once request and reply are complete.
    fn settle(&mut self, cx: &mut Context<'_>) {
        if self.reply.has_ended() && self.boundary.has_ended() && !self.has_ended {
            self.has_ended = true;
            // If the stream can't send its end now, the connection is closed without one.
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Forwarding<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while buffer.remaining() > 0 {
            if let Some(count) = self.reply.take(buffer.initialize_unfilled())? {
                buffer.advance(count);
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
            let count = self.reply.feed(&buffer.filled()[before..]);
            buffer.set_filled(before + count);
            self.settle(cx);
            if count > 0 {
                return Poll::Ready(Ok(()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Forwarding<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut boundary = self.boundary;
        let count = boundary.take(bytes)?;
        if count > 0 && !self.has_ended {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[..count])) {
                Ok(written) if written < count => {
                    self.boundary.take(&bytes[..written])?;
                    return Poll::Ready(Ok(written));
                }
                Ok(_) => {}
                // The server has replied and doesn't read the rest of the request.
                Err(_) if self.reply.has_ended() => self.has_ended = true,
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        self.boundary = boundary;
        self.settle(cx);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_ended || self.boundary.has_ended() {
            return Poll::Ready(Ok(()));
        }
        match ready!(Pin::new(&mut self.stream).poll_shutdown(cx)) {
            Err(_) if self.reply.has_ended() => Poll::Ready(Ok(())),
            ended => Poll::Ready(ended),
        }
    }
}

/// Can't be spliced, since it looks at each byte.
impl<S: Transport> Transport for Forwarding<S> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.reply.has_ended() {
            return Ok(());
        }
        self.stream.check(cx)
    }

    fn unacknowledged(&self) -> usize {
        self.stream.unacknowledged()
    }

    fn reset(&mut self) {
        self.stream.reset()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use ptunnel_proto::Forward;

    use super::*;
    use crate::io::runtime;

    /// Bytes after the request in the same piece, over a stream that takes a few bytes at a time.
    #[test]
    fn nothing_is_lost_of_the_request_and_nothing_behind_it_is_sent() {
        let head = b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n";
        let Forward { head, boundary, .. } = Forward::rewrite(head).unwrap();
        let request = [&head[..], b"abcde"].concat();
        let said = [&request[..], b"GET http://b/ HTTP/1.1\r\n\r\n"].concat();
        let sent = runtime().unwrap().block_on(async {
            let (near, mut far) = duplex(7);
            let mut forwarding = Forwarding::new(near, boundary);
            let mut sent = Vec::new();
            let send = async {
                forwarding.write_all(&said).await?;
                forwarding.write_all(b"more").await?;
                forwarding.shutdown().await?;
                io::Result::Ok(forwarding)
            };
            let mut received = vec![0; request.len()];
            let (written, read) = tokio::join!(send, far.read_exact(&mut received));
            let forwarding = written.unwrap();
            read.unwrap();
            let end = timeout(Duration::from_millis(50), far.read_to_end(&mut sent)).await;
            assert!(end.is_err(), "its end was passed on");
            drop(forwarding);
            far.read_to_end(&mut sent).await.unwrap();
            [received, sent].concat()
        });
        assert_eq!(sent, request);
    }

    /// Regression: bytes after a reply passed for the reply of another server, and a server that
    /// kept the connection open kept the client waiting.
    #[test]
    fn reads_end_after_the_reply() {
        let Forward { head, boundary, .. } =
            Forward::rewrite(b"GET http://a/ HTTP/1.1\r\n\r\n").unwrap();
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let (got, sent) = runtime().unwrap().block_on(async {
            let (near, mut far) = duplex(7);
            let mut forwarding = Forwarding::new(near, boundary);
            let (mut got, mut sent) = (Vec::new(), Vec::new());
            let client = async {
                forwarding.write_all(&head).await?;
                forwarding.read_to_end(&mut got).await?;
                forwarding.shutdown().await
            };
            let server = async {
                // The peer gets an end, and keeps the connection open.
                sent.resize(head.len(), 0);
                far.read_exact(&mut sent).await?;
                far.write_all(reply).await?;
                far.read_to_end(&mut sent).await
            };
            let both = async { tokio::try_join!(client, server) };
            let limit = Duration::from_secs(20);
            timeout(limit, both).await.expect("an end").unwrap();
            (String::from_utf8(got).unwrap(), sent)
        });
        let closed = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        assert_eq!(got, closed);
        assert_eq!(sent, head);
    }
}
