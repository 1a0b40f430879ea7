//! The stream of a forwarded request (`http://` over `--serve-proxy`): the destination gets that
//! one request, and the client gets the reply to it.
//!
//! Invariant: no byte after the request is sent, and no byte after the reply is read, even if the
//! client or the server continues to send.

use std::io::{self, Read, Write};

use futures::{Async, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

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
    /// The last read of the stream didn't fill its buffer.
    is_short: bool,
    /// The stream was shut down, or can't be written to any more.
    has_ended: bool,
}

impl<S> Forwarding<S> {
    fn new(stream: S, boundary: RequestBoundary) -> Forwarding<S> {
        Forwarding {
            stream,
            boundary,
            reply: boundary.reply(),
            is_short: false,
            has_ended: false,
        }
    }
}

impl<S: AsyncWrite> Forwarding<S> {
    /// Shuts the stream down once request and reply are complete.
    fn settle(&mut self) {
        if self.reply.has_ended() && self.boundary.has_ended() && !self.has_ended {
            self.has_ended = true;
            // If the stream can't send its end now, the connection is closed without one.
            let _ = self.stream.shutdown();
        }
    }
}

impl<S: AsyncWrite + Read> Read for Forwarding<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if let Some(count) = self.reply.take(buffer)? {
                return Ok(count);
            }
            let count = self.stream.read(buffer)?;
            self.is_short = count < buffer.len();
            let count = self.reply.feed(&buffer[..count]);
            self.settle();
            if count > 0 {
                return Ok(count);
            }
        }
        Ok(0)
    }
}

impl<S: AsyncWrite> Write for Forwarding<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut boundary = self.boundary;
        let count = boundary.take(bytes)?;
        if count > 0 && !self.has_ended {
            match self.stream.write(&bytes[..count]) {
                Ok(written) if written < count => {
                    self.boundary.take(&bytes[..written])?;
                    return Ok(written);
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(e),
                // The server has replied and doesn't read the rest of the request.
                Err(_) if self.reply.has_ended() => self.has_ended = true,
                Err(e) => return Err(e),
            }
        }
        self.boundary = boundary;
        self.settle();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for Forwarding<S> {}

impl<S: AsyncWrite> AsyncWrite for Forwarding<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        if self.has_ended || self.boundary.has_ended() {
            return Ok(Async::Ready(()));
        }
        match self.stream.shutdown() {
            Err(_) if self.reply.has_ended() => Ok(Async::Ready(())),
            ended => ended,
        }
    }
}

/// Can't be spliced, since it looks at each byte.
impl<S: Transport> Transport for Forwarding<S> {
    fn is_blocked(&mut self) -> bool {
        !self.reply.is_ready() && self.stream.is_blocked()
    }

    fn is_drained(&mut self) -> bool {
        !self.reply.is_ready() && self.is_short && self.stream.is_drained()
    }

    fn check(&mut self) -> io::Result<()> {
        if self.reply.has_ended() {
            return Ok(());
        }
        self.stream.check()
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
    use super::*;
    use crate::io::tests::mock_io::{Action, Drained, MockStream};
    use ptunnel_proto::Forward;

    const HEAD: &[u8] = b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n";

    /// Returns a stream for one request over `stream`, and the request's head.
    fn forwarding_to(stream: MockStream) -> (Forwarding<MockStream>, Vec<u8>) {
        let Forward { head, boundary, .. } = Forward::rewrite(HEAD).unwrap();
        (Forwarding::new(stream, boundary), head)
    }

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const CLOSED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

    fn rest<R: Read>(mut stream: R) -> Vec<u8> {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    }

    /// Regression: a request after the first one was sent to the first one's destination.
    #[test]
    fn bytes_after_the_request_are_discarded() {
        let stream = MockStream::new(vec![Action::Bytes(OK.to_vec())], Vec::new());
        let seen = stream.seen();
        let (mut forwarding, head) = forwarding_to(stream);
        let all = [&head[..], b"abcde", b"GET /"].concat();
        assert_eq!(forwarding.write(&all).unwrap(), all.len());
        assert_eq!(forwarding.write(b"more").unwrap(), 4);
        assert_eq!(seen.borrow().written, [&head[..], b"abcde"].concat());
        assert!(forwarding.shutdown().unwrap().is_ready());
        assert!(!seen.borrow().ended);
        assert_eq!(rest(&mut forwarding), CLOSED);
        assert!(seen.borrow().ended);
    }

    /// Regression: bytes after a reply passed for the reply of another server, and a server that
    /// kept the connection open kept the client waiting.
    #[test]
    fn reads_end_after_the_reply() {
        let reads = vec![
            Action::Bytes([OK, b"HTTP/1.1 200 OK\r\n\r\n"].concat()),
            Action::Fail(io::ErrorKind::ConnectionReset),
        ];
        let stream = MockStream::new(reads, Vec::new());
        let seen = stream.seen();
        let (mut forwarding, head) = forwarding_to(stream);
        forwarding
            .write_all(&[&head[..], b"abcde"].concat())
            .unwrap();
        assert_eq!(rest(&mut forwarding), CLOSED);
        assert!(seen.borrow().ended);
        assert!(!forwarding.is_drained() && !forwarding.is_blocked());
        assert_eq!(forwarding.write(b"GET /").unwrap(), 5);
        assert!(forwarding.shutdown().unwrap().is_ready());
        assert_eq!(seen.borrow().written, [&head[..], b"abcde"].concat());
    }

    /// The server replies before the request is complete, and closes the connection.
    #[test]
    fn a_reply_arrives_though_the_server_stops_reading() {
        let reads = vec![Action::Bytes(OK.to_vec())];
        let writes = vec![Action::Take(999), Action::Fail(io::ErrorKind::BrokenPipe)];
        let (mut forwarding, head) = forwarding_to(MockStream::new(reads, writes));
        forwarding.write_all(&head).unwrap();
        assert_eq!(rest(&mut forwarding), CLOSED);
        assert_eq!(forwarding.write(b"ab").unwrap(), 2);
        assert_eq!(forwarding.write(b"cde").unwrap(), 3);
        assert!(forwarding.shutdown().unwrap().is_ready());
    }

    #[test]
    fn an_invalid_reply_becomes_a_502_and_an_error() {
        let (mut forwarding, _) = forwarding_to(MockStream::new(
            vec![Action::Bytes(b"220 mail\r\n".to_vec())],
            Vec::new(),
        ));
        let mut got = Vec::new();
        let fault = loop {
            let mut buffer = [0; 9];
            match forwarding.read(&mut buffer) {
                Ok(count) => got.extend_from_slice(&buffer[..count]),
                Err(e) => break e,
            }
        };
        assert_eq!(fault.kind(), io::ErrorKind::InvalidData);
        assert!(got.starts_with(b"HTTP/1.1 502 "));
    }

    /// Regression: the rewritten head is longer, so the bytes of one read filled two buffers, and
    /// after the second, short read the stream was taken for drained.
    #[test]
    fn a_short_read_of_kept_bytes_does_not_mean_drained() {
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        let reads = vec![Action::Bytes([&head[..], b"abcd"].concat())];
        let stream = Drained(MockStream::new(reads, Vec::new()));
        let request = Forward::rewrite(b"GET http://a/ HTTP/1.1\r\n\r\n").unwrap();
        let mut forwarding = Forwarding::new(stream, request.boundary);
        let mut buffer = [0; 22];
        assert_eq!(forwarding.read(&mut buffer).unwrap(), 22);
        assert_eq!(forwarding.read(&mut buffer).unwrap(), 19);
        assert!(!forwarding.is_drained());
        assert_eq!(forwarding.read(&mut buffer).unwrap(), 1);
        assert!(forwarding.is_drained());
    }

    #[test]
    fn the_end_of_an_incomplete_request_is_passed_on() {
        for length in &[0, 1, 4] {
            let stream = MockStream::new(Vec::new(), Vec::new());
            let seen = stream.seen();
            let (mut forwarding, head) = forwarding_to(stream);
            forwarding.write_all(&head).unwrap();
            forwarding.write_all(&b"abcd"[..*length]).unwrap();
            assert!(forwarding.shutdown().unwrap().is_ready());
            assert!(seen.borrow().ended, "{}", length);
        }
    }

    #[test]
    fn a_short_write_is_resumed() {
        let writes = vec![Action::Take(7), Action::Fail(io::ErrorKind::WouldBlock)];
        let stream = MockStream::new(Vec::new(), writes);
        let seen = stream.seen();
        let (mut forwarding, head) = forwarding_to(stream);
        let all = [&head[..], b"abcdefgh"].concat();
        assert_eq!(forwarding.write(&all).unwrap(), 7);
        let blocked = forwarding.write(&all[7..]).unwrap_err();
        assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(forwarding.write(&all[7..]).unwrap(), all.len() - 7);
        assert_eq!(seen.borrow().written, [&head[..], b"abcde"].concat());
    }

    #[test]
    fn a_reset_resets_the_inner_stream() {
        let stream = MockStream::new(Vec::new(), Vec::new());
        let seen = stream.seen();
        let (mut forwarding, _) = forwarding_to(stream);
        forwarding.reset();
        assert!(seen.borrow().reset);
        assert!(!forwarding.can_splice());
    }

    #[test]
    fn a_broken_chunk_is_an_error() {
        let head = b"POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let Forward { head, boundary, .. } = Forward::rewrite(head).unwrap();
        let stream = MockStream::new(Vec::new(), Vec::new());
        let mut forwarding = Forwarding::new(stream, boundary);
        forwarding.write_all(&head).unwrap();
        let broken = forwarding.write(b"x").unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::InvalidData);
    }
}
