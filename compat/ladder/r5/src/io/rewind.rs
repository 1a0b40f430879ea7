//! A stream with bytes put back in front of it: bytes that one read returned together with a head,
//! and that belong to the stream after the head.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::transport::Transport;
use ptunnel_core::os::sys::Pipe;

/// A stream that returns `front` to its first reads. All other calls pass to the stream.
#[derive(Debug)]
pub struct Rewind<S> {
    stream: S,
    // Freed with its last byte.
    front: Vec<u8>,
    read: usize,
}

impl<S> Rewind<S> {
    /// Puts `front` back in front of `stream`.
    pub fn new(stream: S, front: Vec<u8>) -> Rewind<S> {
        Rewind {
            stream,
            front,
            read: 0,
        }
    }

    /// Returns the bytes that are still to be read.
    pub fn front(&self) -> &[u8] {
        &self.front[self.read..]
    }

    /// Returns the stream, and the bytes in front that are still to be read.
    pub fn into_parts(mut self) -> (S, Vec<u8>) {
        self.front.drain(..self.read);
        (self.stream, self.front)
    }
}

impl<S> Rewind<Rewind<S>> {
    /// Returns the innermost stream with both fronts before it, the outer one first.
    pub fn flatten(self) -> Rewind<S> {
        let (inner, mut front) = self.into_parts();
        let (stream, behind) = inner.into_parts();
        front.extend(behind);
        Rewind::new(stream, front)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewind<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.front.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let left = &self.front[self.read..];
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        self.read += count;
        if self.read == self.front.len() {
            self.front = Vec::new();
            self.read = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewind<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: Transport> Transport for Rewind<S> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.stream.check(cx)
    }

    fn unacknowledged(&self) -> usize {
        self.stream.unacknowledged()
    }

    fn can_splice(&self) -> bool {
        self.front.is_empty() && self.stream.can_splice()
    }

    fn splice_from(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.stream.splice_from(cx, pipe, most)
    }

    fn splice_into(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.stream.splice_into(cx, pipe, most)
    }

    fn reset(&mut self) {
        self.stream.reset()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tokio::io::AsyncReadExt;

    use super::*;

    fn run<T>(test: impl std::future::Future<Output = T>) -> T {
        crate::io::runtime().unwrap().block_on(test)
    }

    #[test]
    fn reads_the_front_before_the_stream() {
        let mut stream = Rewind::new(Cursor::new(b"world".to_vec()), b"hello ".to_vec());
        let mut all = Vec::new();
        run(stream.read_to_end(&mut all)).unwrap();
        assert_eq!(all, b"hello world");
    }

    #[test]
    fn a_short_read_consumes_only_what_it_returns() {
        let mut stream = Rewind::new(Cursor::new(Vec::new()), b"abcde".to_vec());
        assert_eq!(run(stream.read(&mut [0; 2])).unwrap(), 2);
        assert_eq!(stream.into_parts().1, b"cde");
    }

    #[test]
    fn the_outer_front_is_read_first() {
        let inner = Rewind::new(Cursor::new(b"!".to_vec()), b"world".to_vec());
        let mut stream = Rewind::new(inner, b"hello ".to_vec()).flatten();
        let mut all = Vec::new();
        run(stream.read_to_end(&mut all)).unwrap();
        assert_eq!(all, b"hello world!");
    }
}
