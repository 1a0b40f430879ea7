//! Test doubles: a stream that follows a script, and an executor that detects lost notifications.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::executor::{self, Notify};
use futures::{task, Async, Future, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::io::Transport;
use ptunnel_notify::Notifier;

/// The result of the next read or write.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A read returns these bytes, in several parts if its buffer is smaller.
    Bytes(Vec<u8>),
    /// A write takes at most this many bytes.
    Take(usize),
    /// The call would block; the task is notified at once.
    Wait,
    /// The call fails.
    Fail(io::ErrorKind),
}

/// A stream with one script for its reads and one for its writes. After the last action, reads
/// return the end and writes take everything.
#[derive(Debug, Default)]
pub(crate) struct MockStream {
    reads: VecDeque<Action>,
    writes: VecDeque<Action>,
    seen: Rc<RefCell<Seen>>,
}

/// The calls that a mock stream has received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) written: Vec<u8>,
    pub(crate) reads: usize,
    pub(crate) ended: bool,
    pub(crate) reset: bool,
}

impl MockStream {
    pub(crate) fn new(reads: Vec<Action>, writes: Vec<Action>) -> MockStream {
        MockStream {
            reads: reads.into(),
            writes: writes.into(),
            seen: Rc::default(),
        }
    }

    /// Returns a stream with a read for each piece, and a wait before each.
    pub(crate) fn saying<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> MockStream {
        let reads = pieces.into_iter();
        let reads = reads.flat_map(|p| vec![Action::Wait, Action::Bytes(p.as_ref().to_vec())]);
        MockStream::new(reads.collect(), Vec::new())
    }

    pub(crate) fn seen(&self) -> Rc<RefCell<Seen>> {
        self.seen.clone()
    }
}

fn wait() -> io::Error {
    task::current().notify();
    io::ErrorKind::WouldBlock.into()
}

impl Read for MockStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.seen.borrow_mut().reads += 1;
        match self.reads.pop_front() {
            Some(Action::Bytes(mut bytes)) => {
                let count = bytes.len().min(buffer.len());
                buffer[..count].copy_from_slice(&bytes[..count]);
                if count < bytes.len() {
                    self.reads.push_front(Action::Bytes(bytes.split_off(count)));
                }
                Ok(count)
            }
            Some(Action::Wait) => Err(wait()),
            Some(Action::Fail(kind)) => Err(kind.into()),
            Some(Action::Take(_)) => panic!("a step for writes among the reads"),
            None => Ok(0),
        }
    }
}

impl Write for MockStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut seen = self.seen.borrow_mut();
        assert!(!seen.ended, "written after the end");
        let count = match self.writes.pop_front() {
            Some(Action::Take(most)) => most.min(bytes.len()),
            Some(Action::Wait) => return Err(wait()),
            Some(Action::Fail(kind)) => return Err(kind.into()),
            Some(Action::Bytes(_)) => panic!("a step for reads among the writes"),
            None => bytes.len(),
        };
        seen.written.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for MockStream {}

impl AsyncWrite for MockStream {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        let mut seen = self.seen.borrow_mut();
        assert!(!seen.ended, "ended twice");
        seen.ended = true;
        Ok(Async::Ready(()))
    }
}

impl Transport for MockStream {
    fn reset(&mut self) {
        self.seen.borrow_mut().reset = true;
    }
}

/// A stream that reports itself drained after each read.
pub(crate) struct Drained(pub(crate) MockStream);

impl Read for Drained {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Drained {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl AsyncRead for Drained {}

impl AsyncWrite for Drained {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.0.shutdown()
    }
}

impl Transport for Drained {
    fn is_blocked(&mut self) -> bool {
        true
    }

    fn is_drained(&mut self) -> bool {
        true
    }
}

/// Polls a future until it is done. Panics if it returns `NotReady` without being notified later: it
/// would never be polled again.
pub(crate) fn drive<F: Future>(future: F) -> Result<F::Item, F::Error> {
    #[derive(Default)]
    struct Notified(AtomicBool);

    impl Notify for Notified {
        fn notify(&self, _: usize) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    let notified = Notifier::new(Notified::default());
    let mut spawn = executor::spawn(future);
    loop {
        if let Async::Ready(item) = spawn.poll_future_notify(&notified, 0)? {
            return Ok(item);
        }
        let again = notified.0.swap(false, Ordering::SeqCst);
        assert!(again, "not ready, and nobody will ever say more");
    }
}
