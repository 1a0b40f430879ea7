//! An echo server's connection as a hand-written future of futures 0.1.
//!
//! Does: one scratch buffer a thread, an own buffer only for what could not be written.
//! Doesn't: timeouts, logging.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use futures::{task, try_ready, Async, Future, Poll};

const SCRATCH: usize = 16 * 1024;
/// Messages that one connection may echo before the others have their turn.
const ROUNDS: usize = 32;

/// What all connections of a thread read into.
pub type Scratch = Rc<RefCell<Vec<u8>>>;

pub fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; SCRATCH]))
}

/// What a socket knows beside its bytes.
pub trait Stream: Read + Write {
    /// After a short read: whether nothing is left, so that the next event will report more.
    fn is_drained(&mut self) -> bool;
}

/// Sends back what it reads, until the end of file.
///
/// ```text
/// reading ── the socket took less than was read ──▶ flushing ── all of it went ──▶ reading
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Echo<S> {
    stream: S,
    scratch: Scratch,
    /// What the socket did not take; while there is some, nothing more is read.
    kept: Vec<u8>,
}

impl<S: Stream> Echo<S> {
    pub fn new(stream: S, scratch: Scratch) -> Echo<S> {
        Echo {
            stream,
            scratch,
            kept: Vec::new(),
        }
    }

    fn flush(&mut self) -> Poll<(), io::Error> {
        while !self.kept.is_empty() {
            let sent = try_ready!(nonblocking(self.stream.write(&self.kept)));
            self.kept.drain(..sent);
        }
        Ok(Async::Ready(()))
    }

    /// Echoes what one read gives.
    fn echo(&mut self) -> Poll<Echoed, io::Error> {
        let mut scratch = self.scratch.borrow_mut();
        let read = try_ready!(nonblocking(self.stream.read(&mut scratch)));
        if read == 0 {
            return Ok(Async::Ready(Echoed::End));
        }
        let drained = read < scratch.len() && self.stream.is_drained();
        let sent = match nonblocking(self.stream.write(&scratch[..read]))? {
            Async::Ready(sent) => sent,
            Async::NotReady => 0,
        };
        self.kept.extend_from_slice(&scratch[sent..read]);
        Ok(Async::Ready(match drained {
            true => Echoed::All,
            false => Echoed::Some,
        }))
    }
}

enum Echoed {
    /// There may be more.
    Some,
    /// There was no more.
    All,
    /// The end of file.
    End,
}

impl<S: Stream> Future for Echo<S> {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(), io::Error> {
        for _ in 0..ROUNDS {
            try_ready!(self.flush());
            match try_ready!(self.echo()) {
                Echoed::Some => {}
                Echoed::All if self.kept.is_empty() => return Ok(Async::NotReady),
                Echoed::All => {}
                Echoed::End => return Ok(Async::Ready(())),
            }
        }
        task::current().notify();
        Ok(Async::NotReady)
    }
}

fn nonblocking<T>(result: io::Result<T>) -> Poll<T, io::Error> {
    match result {
        Ok(value) => Ok(Async::Ready(value)),
        Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(e) => Err(e),
    }
}
