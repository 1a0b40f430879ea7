//! The trait of the streams that the relay carries: splice(2), errors, reset.

use std::io;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};

use ptunnel_core::os::sys::Pipe;

/// A byte stream that a [`Relay`](crate::Relay) can carry.
///
/// The default of each method is correct for any stream; a stream that knows more about its descriptor
/// makes the relay faster. `poll_shutdown` must pass on the end of the stream.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Checks for an error of the stream without reading from it.
    ///
    /// `Ok` also means that the current task will be woken for an error.
    ///
    /// # Errors
    ///
    /// The stream's error, such as `ConnectionReset`; it is returned once.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let _ = cx;
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
    fn splice_from(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let _ = (cx, pipe, most);
        Poll::Ready(Err(io::ErrorKind::InvalidInput.into()))
    }

    /// Moves up to `most` bytes out of `pipe`, which holds at least that many.
    ///
    /// # Errors
    ///
    /// The errors of a write; `InvalidInput` if this stream can't be spliced.
    fn splice_into(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let _ = (cx, pipe, most);
        Poll::Ready(Err(io::ErrorKind::InvalidInput.into()))
    }

    /// Makes dropping this stream reset the connection (RST) instead of ending it in order. Does
    /// nothing where there is no reset.
    fn reset(&mut self) {}
}
