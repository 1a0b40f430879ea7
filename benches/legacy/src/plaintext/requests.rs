//! The requests of one connection, as a stream.

use std::io;

use futures::{task, Async, Poll, Stream};
use ptunnel::io::Transport;

use super::shared::Shared;
use crate::http::{self, Route};

/// Holds 32 requests of the usual size; a longer head is refused.
const BUFFER: usize = 8 * 1024;
/// Reads in a row before other connections have their turn.
const READS: u8 = 16;

/// Parses what was read, in order; reads when nothing whole is left.
///
/// Ends with the connection's end of file; one inside a request is an error.
#[must_use = "streams do nothing unless polled"]
pub struct Requests<S> {
    io: Shared<S>,
    buffer: Box<[u8]>,
    /// What was read and not parsed: `buffer[start..end]`.
    start: usize,
    end: usize,
    reads: u8,
    /// The turn in which nothing was left to read. In a later one something may have come, of which the task was notified
    /// while it waited for something else.
    drained: Option<u32>,
}

impl<S: Transport> Requests<S> {
    pub fn new(io: Shared<S>) -> Requests<S> {
        Requests {
            io,
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            reads: 0,
            drained: None,
        }
    }

    /// True at the end of file.
    fn fill(&mut self) -> Poll<bool, io::Error> {
        if self.drained == Some(self.io.turn()) {
            self.reads = 0;
            return Ok(Async::NotReady);
        }
        if self.reads == READS {
            self.reads = 0;
            task::current().notify();
            return Ok(Async::NotReady);
        }
        if self.start < self.end {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the head of a request is too long",
            ));
        }
        match self.io.read(&mut self.buffer[self.end..]) {
            Ok(n) => {
                self.end += n;
                self.reads += 1;
                let short = n > 0 && self.end < self.buffer.len();
                if short && self.io.is_drained() {
                    self.drained = Some(self.io.turn());
                }
                Ok(Async::Ready(n == 0))
            }
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.reads = 0;
                Ok(Async::NotReady)
            }
            Err(e) => Err(e),
        }
    }
}

impl<S: Transport> Stream for Requests<S> {
    type Item = Route;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<Route>, io::Error> {
        loop {
            if self.start < self.end {
                if let Some((route, length)) = http::parse(&self.buffer[self.start..self.end])? {
                    self.start += length;
                    return Ok(Async::Ready(Some(route)));
                }
            }
            match self.fill()? {
                Async::NotReady => return Ok(Async::NotReady),
                Async::Ready(false) => {}
                Async::Ready(true) if self.start == self.end => return Ok(Async::Ready(None)),
                Async::Ready(true) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::{self, Notify, NotifyHandle};
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;
    use tokio_io::{AsyncRead, AsyncWrite};

    const ONE: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Gives a piece a read, an empty one at its end, and believes itself drained after each.
    struct Script(Vec<Vec<u8>>);

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    impl Write for Script {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("unexpected write")
        }

        fn flush(&mut self) -> io::Result<()> {
            panic!("unexpected flush")
        }
    }

    impl AsyncRead for Script {}

    impl AsyncWrite for Script {
        fn shutdown(&mut self) -> Poll<(), io::Error> {
            panic!("unexpected shutdown")
        }
    }

    impl Transport for Script {
        fn is_drained(&mut self) -> bool {
            true
        }
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Notify for Count {
        fn notify(&self, _: usize) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Case {
        io: Shared<Script>,
        task: executor::Spawn<Requests<Script>>,
        count: Arc<Count>,
    }

    impl Case {
        fn of(pieces: &[&[u8]]) -> Case {
            let io = Shared::new(Script(pieces.iter().rev().map(|p| p.to_vec()).collect()));
            Case {
                task: executor::spawn(Requests::new(io.clone())),
                io,
                count: Arc::default(),
            }
        }

        fn poll(&mut self) -> Poll<Option<Route>, io::ErrorKind> {
            let notify = NotifyHandle::from(self.count.clone());
            let poll = self.task.poll_stream_notify(&notify, 0);
            poll.map_err(|e| e.kind())
        }
    }

    const ROUTE: Poll<Option<Route>, io::ErrorKind> = Ok(Async::Ready(Some(Route::Plaintext)));

    #[test]
    fn requests_come_one_by_one_however_their_bytes_came() {
        let two = [ONE, ONE].concat();
        for cut in 1..two.len() {
            let mut case = Case::of(&[&two[..cut], &two[cut..]]);
            let mut routes = 0;
            // A turn for each piece and one for the end; more would be a wait for ever.
            for _ in 0..3 {
                case.io.begin_turn();
                while case.poll() == ROUTE {
                    routes += 1;
                }
            }
            assert_eq!(case.poll(), Ok(Async::Ready(None)), "{}", cut);
            assert_eq!(routes, 2, "{}", cut);
        }
    }

    /// The task was notified of the second request while its replies waited for the socket; no notification follows.
    #[test]
    fn what_came_since_an_earlier_turn_is_read() {
        let mut case = Case::of(&[ONE, ONE]);
        case.io.begin_turn();
        assert_eq!(case.poll(), ROUTE);
        case.io.begin_turn();
        assert_eq!(case.poll(), ROUTE);
        assert_eq!(case.poll(), Ok(Async::NotReady));
    }

    #[test]
    fn an_end_inside_a_request_and_a_head_too_long_are_errors() {
        let mut case = Case::of(&[&ONE[..10]]);
        assert_eq!(case.poll(), Ok(Async::NotReady));
        case.io.begin_turn();
        assert_eq!(case.poll(), Err(io::ErrorKind::UnexpectedEof));
        let mut long = ONE[..ONE.len() - 2].to_vec();
        long.extend_from_slice(b"X: ");
        long.resize(BUFFER, b'x');
        assert_eq!(Case::of(&[&long]).poll(), Err(io::ErrorKind::InvalidData));
    }

    #[test]
    fn a_client_that_never_pauses_lets_others_have_their_turn() {
        let request = format!("GET /plaintext HTTP/1.1\r\nHost: {:a<221}\r\n\r\n", "");
        let full = request.repeat(BUFFER / request.len());
        assert_eq!(full.len(), BUFFER);
        let mut case = Case::of(&vec![full.as_bytes(); usize::from(READS) + 1]);
        let mut routes = || (0..1000).take_while(|_| case.poll() == ROUTE).count();
        assert_eq!(routes(), 16 * 32);
        assert_eq!(routes(), 32);
        assert_eq!(case.count.0.load(Ordering::SeqCst), 1);
    }
}
