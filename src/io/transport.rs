//! The trait of the streams that the relay carries: hints of readiness, splice(2), errors, reset.

use std::io;

use futures::{Async, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use ptunnel_core::os::sys::Pipe;

/// A byte stream that a [`Relay`](crate::Relay) can carry.
///
/// The default of each method is correct for any stream; a stream that knows more about its descriptor
/// makes the relay faster. `AsyncWrite::shutdown` must pass on the end of the stream: where it does
/// nothing, as on tokio-core's `TcpStream`, half-closes are lost.
pub trait Transport: AsyncRead + AsyncWrite {
    /// Returns whether a read would block, without trying it.
    ///
    /// `true` also means that the current task will be notified when it doesn't.
    fn is_blocked(&mut self) -> bool {
        false
    }

    /// Returns whether a read that didn't fill its buffer has taken everything.
    ///
    /// `true` also means that the current task will be notified when more comes. A stream that doesn't
    /// know returns `false`, and the relay reads until that would block.
    fn is_drained(&mut self) -> bool {
        false
    }

    /// Checks for an error of the stream without reading from it.
    ///
    /// `Ok` also means that the current task will be notified of an error.
    ///
    /// # Errors
    ///
    /// The stream's error, such as `ConnectionReset`; it is returned once.
    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the bytes that were written and not acknowledged by the peer, which a
    /// [`reset`](Transport::reset) would destroy; 0 if there are none or that is unknown.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// Returns whether [`splice_from`](Transport::splice_from) and
    /// [`splice_into`](Transport::splice_into) work.
    fn can_splice(&self) -> bool {
        false
    }

    /// Moves up to `most` bytes from this stream into an *empty* `pipe`; 0 means the end.
    ///
    /// # Errors
    ///
    /// The errors of a read; `InvalidInput` if the next bytes can't be spliced, but can be read.
    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        let _ = (pipe, most);
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Moves up to `most` bytes out of `pipe`, which holds at least that many.
    ///
    /// # Errors
    ///
    /// The errors of a write; `InvalidInput` if this stream can't be spliced.
    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        let _ = (pipe, most);
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Makes dropping this stream reset the connection (RST) instead of ending it in order. Does
    /// nothing where there is no reset.
    fn reset(&mut self) {}
}

/// Returns the result of a non-blocking call as a `Poll`.
pub(crate) fn poll_io<T>(answer: io::Result<T>) -> Poll<T, io::Error> {
    match answer {
        Ok(value) => Ok(Async::Ready(value)),
        Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(e) => Err(e),
    }
}
