//! The way of a request that is sent on: to its destination goes that request, and nothing behind
//! it.

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use ptunnel::wire::Passage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The stream to which one request goes.
///
/// What is written behind the request is swallowed, as if it had been sent. An end there waits for
/// that of the answer: the request has one of its own, and squid for one takes the answer away with
/// a FIN. Everything else is the stream's: the end of a request that isn't whole, and what it
/// answers, however late. Writing fails when the request has no end that could be found.
#[derive(Debug)]
pub struct Forwarding<S> {
    stream: S,
    passage: Passage,
    /// The client has ended, which the stream doesn't know yet.
    owes_end: bool,
    /// The answer has come to its end.
    is_answered: bool,
}

impl<S> Forwarding<S> {
    /// Lets through to `stream` what the passage does.
    pub fn new(stream: S, passage: Passage) -> Forwarding<S> {
        Forwarding {
            stream,
            passage,
            owes_end: false,
            is_answered: false,
        }
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Forwarding<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() == before && buffer.remaining() > 0 {
            self.is_answered = true;
            if self.owes_end {
                // Nobody waits for it: where it has no room, the connection ends without.
                let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
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
        if self.passage.has_ended() && !self.is_answered {
            self.owes_end = true;
            Poll::Ready(Ok(()))
        } else {
            Pin::new(&mut self.stream).poll_shutdown(cx)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ptunnel::wire::Forward;
    use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

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
}
