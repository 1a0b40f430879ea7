//! The way of a request that is sent on: to its destination goes that request, and nothing behind
//! it.

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use ptunnel::wire::Passage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The stream to which one request goes.
///
/// What is written behind the request is swallowed, as if it had been sent. Everything else is the
/// stream's: its end, and what it answers, however late. Writing fails when the request has no end
/// that could be found.
#[derive(Debug)]
pub struct Forwarding<S> {
    stream: S,
    passage: Passage,
}

impl<S> Forwarding<S> {
    /// Lets through to `stream` what the passage does.
    pub fn new(stream: S, passage: Passage) -> Forwarding<S> {
        Forwarding { stream, passage }
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Forwarding<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Forwarding<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut passage = self.passage;
        let count = passage.take(bytes)?;
        if count > 0 {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[..count]))?;
            if written < count {
                self.passage.take(&bytes[..written])?;
                return Poll::Ready(Ok(written));
            }
        }
        self.passage = passage;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use ptunnel::wire::Forward;
    use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Over a stream that takes a few bytes at a time, what is behind the request in the same piece.
    #[test]
    fn nothing_is_lost_of_the_request_and_nothing_behind_it_is_sent() {
        let head = b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n";
        let Forward { head, passage, .. } = Forward::rewrite(head).unwrap();
        let request = [&head[..], b"abcde"].concat();
        let said = [&request[..], b"GET http://b/ HTTP/1.1\r\n\r\n"].concat();
        let sent = crate::runtime().unwrap().block_on(async {
            let (near, mut far) = duplex(7);
            let mut forwarding = Forwarding::new(near, passage);
            let mut sent = Vec::new();
            let send = async {
                forwarding.write_all(&said).await?;
                forwarding.write_all(b"more").await?;
                forwarding.shutdown().await
            };
            let (written, read) = tokio::join!(send, far.read_to_end(&mut sent));
            written.unwrap();
            read.unwrap();
            sent
        });
        assert_eq!(sent, request);
    }
}
