//! What the relay asks of a stream besides reading and writing.

use std::io;

use futures::{Async, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::os::sys::Pipe;

/// A byte stream that a [`Relay`](crate::engine::Relay) can carry.
///
/// Every method has an answer that is right for any stream; one that knows more about its
/// descriptor makes the relay faster. `AsyncWrite::shutdown` is expected to pass on the end of
/// the stream: where it does nothing, as on tokio-core's own `TcpStream`, half-closes are lost.
pub trait Transport: AsyncRead + AsyncWrite {
    /// Whether a read would block now, known without trying it.
    ///
    /// `true` also means that the current task is notified of what comes next.
    fn is_blocked(&mut self) -> bool {
        false
    }

    /// After a read that didn't fill its buffer: is there nothing more to read for now?
    ///
    /// `true` also means that the current task is notified of what comes next. A stream that
    /// can't tell says `false`, and the relay reads until it would block.
    fn is_drained(&mut self) -> bool {
        false
    }

    /// The error that the stream is known to have met, for those who don't read from it now.
    ///
    /// `Ok` also means that the current task is notified of one that comes.
    ///
    /// # Errors
    ///
    /// That one, such as a reset; it is told once.
    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// How much of what was written hasn't arrived at the peer yet, so that a
    /// [`reset`](Transport::reset) would take it away. 0 where nothing is lost so, or that is unknown.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// Whether bytes may go round this process: [`splice_from`](Transport::splice_from) and
    /// [`splice_into`](Transport::splice_into) work.
    fn can_splice(&self) -> bool {
        false
    }

    /// Moves up to `most` bytes from this stream into an *empty* `pipe`; 0 is the end.
    ///
    /// # Errors
    ///
    /// Those of a read; `InvalidInput` when what comes next can't be spliced, but may be read.
    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        let _ = (pipe, most);
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Moves up to `most` bytes out of `pipe`, which holds at least that many.
    ///
    /// # Errors
    ///
    /// Those of a write; `InvalidInput` when this stream can't be spliced.
    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        let _ = (pipe, most);
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Makes dropping this stream tell the peer that it was cut off, where there is a way to
    /// say so (TCP's RST), instead of an orderly end.
    fn reset(&mut self) {}
}

/// The answer of a call that doesn't block, as a `Poll`.
pub(crate) fn poll_io<T>(answer: io::Result<T>) -> Poll<T, io::Error> {
    match answer {
        Ok(value) => Ok(Async::Ready(value)),
        Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(e) => Err(e),
    }
}
