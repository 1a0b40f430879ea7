//! tokio 1 → tokio-io 0.1.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::Poll;

use bytes::Buf;
use futures01::{Async, Poll as Poll01};
use iovec::IoVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ShutdownPolicy;
use crate::task::{poll_01, SharedCrossing};

/// A tokio 1 stream, as tokio-io 0.1's `AsyncRead + AsyncWrite`.
///
/// *Cost*: no allocation while the 0.1 task is driven by [`AsStd`](crate::task::AsStd), one per
/// direction and task elsewhere; a would-block error is made without one. `read_buf` zeroes the
/// spare room of the buffer first, `read` reads into the caller's bytes as they are. `write_buf` is
/// vectored (16 slices) when the stream is. *Budget*: on a Core a read or write would block after 128
/// ready ones in a row, so that a fast peer leaves the other tasks their turn; see
/// [`task`](crate::task#budget). *Cancellation*: 0.1 futures over this can be dropped at
/// any `NotReady`; bytes already moved stay moved, as ever. *Ownership*: this owns the stream, and
/// dropping it closes the socket; [`into_inner`](AsIo01::into_inner) gives it back unharmed, since
/// nothing is buffered here.
///
/// Polled outside a 0.1 task it panics, as tokio-core's streams did.
///
/// ```
/// use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
/// use tokio_core_compat::task::AsStd;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, far) = tokio::io::duplex(64);
/// let near = AsIo01::new(near, ShutdownPolicy::Fin);
/// AsStd::new(tokio_io::io::write_all(near, "over there")).await?;
///
/// let far = AsIo01::new(far, ShutdownPolicy::Fin);
/// let (_, read) = AsStd::new(tokio_io::io::read_to_end(far, Vec::new())).await?;
/// assert_eq!(read, b"over there");
/// # Ok(())
/// # }
/// ```
pub struct AsIo01<S> {
    io: S,
    policy: ShutdownPolicy,
    // One each: the halves of a split stream live in two tasks.
    reading: SharedCrossing,
    writing: SharedCrossing,
}

impl<S> AsIo01<S> {
    /// Wraps a tokio 1 stream. `Fin` if the 0.1 code counts on half-close, `Ignore` if it was
    /// written for tokio-core and calls `shutdown` without meaning it.
    pub fn new(io: S, policy: ShutdownPolicy) -> AsIo01<S> {
        AsIo01 {
            io,
            policy,
            reading: SharedCrossing::default(),
            writing: SharedCrossing::default(),
        }
    }

    /// The stream inside.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// The stream inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.io
    }

    /// Gives the stream back.
    pub fn into_inner(self) -> S {
        self.io
    }
}

#[cfg(all(unix, feature = "net"))]
impl<S> AsIo01<S> {
    pub(crate) fn policy(&self) -> ShutdownPolicy {
        self.policy
    }

    /// Of reading, and of writing.
    pub(crate) fn crossings(&self) -> (&SharedCrossing, &SharedCrossing) {
        (&self.reading, &self.writing)
    }
}

const READ: &str = "a read on io::AsIo01";
const WRITE: &str = "a write on io::AsIo01";

impl<S: AsyncRead + Unpin> Read for AsIo01<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let AsIo01 { io, reading, .. } = self;
        let mut buf = ReadBuf::new(buf);
        let polled = reading
            .get_mut()
            .poll(READ, |cx| Pin::new(io).poll_read(cx, &mut buf));
        would_block(polled)?;
        Ok(buf.filled().len())
    }
}

impl<S: AsyncRead + Unpin> tokio_io::AsyncRead for AsIo01<S> {}

impl<S: AsyncWrite + Unpin> Write for AsIo01<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let AsIo01 { io, writing, .. } = self;
        would_block(
            writing
                .get_mut()
                .poll(WRITE, |cx| Pin::new(io).poll_write(cx, buf)),
        )
    }

    fn flush(&mut self) -> io::Result<()> {
        let AsIo01 { io, writing, .. } = self;
        would_block(
            writing
                .get_mut()
                .enter(WRITE, |cx| Pin::new(io).poll_flush(cx)),
        )
    }
}

impl<S: AsyncWrite + Unpin> tokio_io::AsyncWrite for AsIo01<S> {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        let AsIo01 {
            io,
            writing,
            policy,
            ..
        } = self;
        poll_01(writing.get_mut().enter(WRITE, |cx| match policy {
            ShutdownPolicy::Fin => Pin::new(io).poll_shutdown(cx),
            ShutdownPolicy::Ignore => Pin::new(io).poll_flush(cx),
        }))
    }

    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll01<usize, io::Error> {
        if !buf.has_remaining() {
            return Ok(Async::Ready(0));
        }
        let AsIo01 { io, writing, .. } = self;
        let polled = if io.is_write_vectored() {
            let slices = Slices::of(buf);
            writing.get_mut().poll(WRITE, |cx| {
                Pin::new(io).poll_write_vectored(cx, slices.as_slice())
            })
        } else {
            writing
                .get_mut()
                .poll(WRITE, |cx| Pin::new(io).poll_write(cx, buf.bytes()))
        };
        let polled = poll_01(polled)?;
        if let Async::Ready(n) = polled {
            buf.advance(n);
        }
        Ok(polled)
    }
}

/// The first slices of a bytes 0.4 `Buf`, in today's type.
pub(crate) struct Slices<'a> {
    slices: [IoSlice<'a>; 16],
    filled: usize,
}

impl<'a> Slices<'a> {
    pub(crate) fn of<B: Buf>(buf: &'a B) -> Slices<'a> {
        // An `IoVec` cannot be empty.
        let mut vecs: [&IoVec; 16] = [<&IoVec>::from(&[0][..]); 16];
        let filled = buf.bytes_vec(&mut vecs);
        Slices {
            slices: vecs.map(|vec| IoSlice::new(vec)),
            filled,
        }
    }

    pub(crate) fn as_slice(&self) -> &[IoSlice<'a>] {
        &self.slices[..self.filled]
    }
}

/// A std poll as a 0.1 read or write says it.
pub(crate) fn would_block<T>(polled: Poll<io::Result<T>>) -> io::Result<T> {
    match polled {
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        // 0.1 would take it for `Pending` and wait for a wake-up that never comes.
        Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Err(
            io::Error::other("the tokio 1 stream in io::AsIo01 returned WouldBlock as an error"),
        ),
        Poll::Ready(result) => result,
    }
}
