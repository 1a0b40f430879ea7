//! A stream with bytes put back in front of it: bytes that one read returned together with a head,
//! and that belong to the stream after the head.

use std::io::{self, Read, Write};

use futures::Poll;
use tokio_io::{AsyncRead, AsyncWrite};

use super::transport::Transport;
use ptunnel_core::os::sys::Pipe;

/// A stream that returns `front` to its first reads. All other calls pass to the stream.
#[derive(Debug)]
pub struct Rewind<S> {
    stream: S,
    // Consumed from the left, and freed by the first read that passes to the stream. Until then the
    // stream's hints are about an earlier read, and are ignored.
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

    /// Returns the bytes in front that are still to be read.
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

impl<S: Read> Read for Rewind<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.front.is_empty() {
            return self.stream.read(buffer);
        }
        if self.read == self.front.len() {
            self.front = Vec::new();
            self.read = 0;
            return self.stream.read(buffer);
        }
        let left = self.front();
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.read += count;
        Ok(count)
    }
}

impl<S: Write> Write for Rewind<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S: AsyncRead> AsyncRead for Rewind<S> {}

impl<S: AsyncWrite> AsyncWrite for Rewind<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.stream.shutdown()
    }
}

impl<S: Transport> Transport for Rewind<S> {
    fn is_blocked(&mut self) -> bool {
        self.front.is_empty() && self.stream.is_blocked()
    }

    fn is_drained(&mut self) -> bool {
        self.front.is_empty() && self.stream.is_drained()
    }

    fn check(&mut self) -> io::Result<()> {
        self.stream.check()
    }

    fn unacknowledged(&self) -> usize {
        self.stream.unacknowledged()
    }

    fn can_splice(&self) -> bool {
        self.front.is_empty() && self.stream.can_splice()
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        self.stream.splice_from(pipe, most)
    }

    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        self.stream.splice_into(pipe, most)
    }

    fn reset(&mut self) {
        self.stream.reset()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::io::tests::mock_io::{Action, Drained, MockStream};

    #[test]
    fn reads_the_front_before_the_stream() {
        let mut stream = Rewind::new(Cursor::new(b"world".to_vec()), b"hello ".to_vec());
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"hello world");
    }

    /// Regression: if more bytes came with a proxy's reply than one read took, the rest waited in
    /// the socket until the destination sent more.
    #[test]
    fn a_short_read_of_the_front_does_not_mean_drained() {
        let stream = Drained(MockStream::new(
            vec![Action::Bytes(b"world".to_vec())],
            Vec::new(),
        ));
        let mut stream = Rewind::new(stream, b"hello ".to_vec());
        let mut buffer = [0; 64];
        assert_eq!(stream.read(&mut buffer).unwrap(), 6);
        assert!(!stream.is_drained() && !stream.is_blocked() && !stream.can_splice());
        assert_eq!(stream.read(&mut buffer).unwrap(), 5);
        assert!(stream.is_drained() && stream.is_blocked());
    }

    #[test]
    fn a_short_read_consumes_only_what_it_returns() {
        let mut stream = Rewind::new(Cursor::new(Vec::new()), b"abcde".to_vec());
        let mut buffer = [0; 2];
        assert_eq!(stream.read(&mut buffer).unwrap(), 2);
        assert_eq!(stream.front(), b"cde");
        assert_eq!(stream.into_parts().1, b"cde");
    }

    #[test]
    fn the_outer_front_is_read_first() {
        let inner = Rewind::new(Cursor::new(b"!".to_vec()), b"..world".to_vec());
        let mut outer = Rewind::new(inner, b"hello ".to_vec());
        // Each of the two reads takes a part of another front.
        assert_eq!(outer.read(&mut [0; 6]).unwrap(), 6);
        assert_eq!(outer.read(&mut [0; 2]).unwrap(), 2);
        let (inner, _) = outer.into_parts();
        let mut stream = Rewind::new(inner, b"hello ".to_vec()).flatten();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"hello world!");
    }
}
