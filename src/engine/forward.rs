//! The way of a request that is sent on: to its destination goes that request, and nothing behind
//! it.

use std::io::{self, Read, Write};

use futures::{Async, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::net::{Rewind, Transport, Upstream};
use crate::wire::Passage;

/// The stream to which one request goes.
///
/// What is written behind the request is swallowed, as if it had been sent. An end there waits for
/// that of the answer: the request has one of its own, and squid for one takes the answer away with
/// a FIN. Everything else is the stream's: the end of a request that isn't whole, and what it
/// answers, however late. Writing fails when the request has no end that could be found.
pub fn forwarding<S>(stream: Rewind<Upstream<S>>, passage: Passage) -> Rewind<Upstream<S>>
where
    S: Transport + 'static,
{
    let forwarding = Forwarding::new(stream, passage);
    Rewind::new(Upstream::Layered(Box::new(forwarding)), Vec::new())
}

struct Forwarding<S> {
    stream: S,
    passage: Passage,
    /// The client has ended, which the stream doesn't know yet.
    owes_end: bool,
    /// The answer has come to its end.
    is_answered: bool,
}

impl<S> Forwarding<S> {
    fn new(stream: S, passage: Passage) -> Forwarding<S> {
        Forwarding {
            stream,
            passage,
            owes_end: false,
            is_answered: false,
        }
    }
}

impl<S: AsyncWrite + Read> Read for Forwarding<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.is_answered = true;
            if self.owes_end {
                // Nobody waits for it: where it has no room, the connection ends without.
                let _ = self.stream.shutdown();
            }
        }
        Ok(count)
    }
}

impl<S: Write> Write for Forwarding<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut passage = self.passage;
        let count = passage.take(bytes)?;
        if count > 0 {
            let written = self.stream.write(&bytes[..count])?;
            if written < count {
                self.passage.take(&bytes[..written])?;
                return Ok(written);
            }
        }
        self.passage = passage;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for Forwarding<S> {}

impl<S: AsyncWrite> AsyncWrite for Forwarding<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        if self.passage.has_ended() && !self.is_answered {
            self.owes_end = true;
            Ok(Async::Ready(()))
        } else {
            self.stream.shutdown()
        }
    }
}

/// Not to be spliced: what goes through has to be seen.
impl<S: Transport> Transport for Forwarding<S> {
    fn is_blocked(&mut self) -> bool {
        self.stream.is_blocked()
    }

    fn is_drained(&mut self) -> bool {
        self.stream.is_drained()
    }

    fn check(&mut self) -> io::Result<()> {
        self.stream.check()
    }

    fn reset(&mut self) {
        self.stream.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::script::{Script, Step};
    use crate::wire::Forward;

    const HEAD: &[u8] = b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n";

    /// A stream for one request over this one, and the head that it takes first.
    fn forwarding_to(stream: Script) -> (Forwarding<Script>, Vec<u8>) {
        let Forward { head, passage, .. } = Forward::rewrite(HEAD).unwrap();
        (Forwarding::new(stream, passage), head)
    }

    /// Another request came behind the first one, and went to its destination, too.
    #[test]
    fn what_is_behind_the_request_is_swallowed() {
        let stream = Script::new(Vec::new(), Vec::new());
        let seen = stream.seen();
        let (mut forwarding, head) = forwarding_to(stream);
        let all = [&head[..], b"abcde", b"GET /"].concat();
        assert_eq!(forwarding.write(&all).unwrap(), all.len());
        assert_eq!(forwarding.write(b"more").unwrap(), 4);
        assert_eq!(seen.borrow().written, [&head[..], b"abcde"].concat());
        assert!(forwarding.shutdown().unwrap().is_ready());
        assert!(!seen.borrow().ended);
        assert_eq!(forwarding.read(&mut [0; 9]).unwrap(), 0);
        assert!(seen.borrow().ended);
    }

    #[test]
    fn an_end_behind_the_answers_is_passed_on() {
        let stream = Script::new(Vec::new(), Vec::new());
        let seen = stream.seen();
        let (mut forwarding, head) = forwarding_to(stream);
        forwarding
            .write_all(&[&head[..], b"abcde"].concat())
            .unwrap();
        assert_eq!(forwarding.read(&mut [0; 9]).unwrap(), 0);
        assert!(!seen.borrow().ended);
        assert!(forwarding.shutdown().unwrap().is_ready());
        assert!(seen.borrow().ended);
    }

    #[test]
    fn the_end_of_half_a_request_is_passed_on() {
        for length in &[0, 1, 4] {
            let stream = Script::new(Vec::new(), Vec::new());
            let seen = stream.seen();
            let (mut forwarding, head) = forwarding_to(stream);
            forwarding.write_all(&head).unwrap();
            forwarding.write_all(&b"abcd"[..*length]).unwrap();
            assert!(forwarding.shutdown().unwrap().is_ready());
            assert!(seen.borrow().ended, "{}", length);
        }
    }

    #[test]
    fn a_short_write_is_resumed_where_it_stopped() {
        let writes = vec![Step::Take(7), Step::Fail(io::ErrorKind::WouldBlock)];
        let stream = Script::new(Vec::new(), writes);
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
    fn what_comes_back_and_a_reset_are_the_streams() {
        let stream = Script::new(vec![Step::Bytes(b"reply".to_vec())], Vec::new());
        let seen = stream.seen();
        let (mut forwarding, _) = forwarding_to(stream);
        let mut buffer = [0; 9];
        assert_eq!(forwarding.read(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"reply");
        forwarding.reset();
        assert!(seen.borrow().reset);
        assert!(!forwarding.can_splice());
    }

    #[test]
    fn a_broken_chunk_is_an_error() {
        let head = b"POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let Forward { head, passage, .. } = Forward::rewrite(head).unwrap();
        let stream = Script::new(Vec::new(), Vec::new());
        let mut forwarding = Forwarding::new(stream, passage);
        forwarding.write_all(&head).unwrap();
        let broken = forwarding.write(b"x").unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::InvalidData);
    }
}
