//! The trait of the streams that the relay carries, on tokio 1, and each old stream as one.
//!
//! The streams keep the old [`Transport`](super::transport::Transport).

use std::io;
use std::task::{Context, Poll};

use futures::{Async, Poll as Poll01};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_core_compat::io::AsTokio;

use super::transport::Transport as Transport01;
use crate::os::sys::Pipe;

/// A byte stream that a [`Relay`](crate::engine::Relay) can carry.
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

/// Returns an old stream as one that the relay carries. Its own `shutdown` passes the end on.
pub(crate) fn as_tokio<S: Transport01>(stream: S) -> AsTokio<S> {
    AsTokio::with_half_close(stream, |_| Ok(()))
}

impl<S: Transport01> Transport for AsTokio<S> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.poll_with(cx, |stream| stream.check())
    }

    fn unacknowledged(&self) -> usize {
        self.get_ref().unacknowledged()
    }

    fn can_splice(&self) -> bool {
        self.get_ref().can_splice()
    }

    fn splice_from(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        as_poll(self.poll_with(cx, |stream| stream.splice_from(pipe, most)))
    }

    fn splice_into(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        as_poll(self.poll_with(cx, |stream| stream.splice_into(pipe, most)))
    }

    fn reset(&mut self) {
        self.get_mut().reset();
    }
}

/// Converts a poll's result to std's.
fn as_poll<T>(polled: Poll01<T, io::Error>) -> Poll<io::Result<T>> {
    match polled {
        Ok(Async::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Async::NotReady) => Poll::Pending,
        Err(e) => Poll::Ready(Err(e)),
    }
}
