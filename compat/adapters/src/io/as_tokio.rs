//! tokio-io 0.1 → tokio 1.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use bytes::Buf;
use futures01::{Async, Poll as Poll01};
use iovec::IoVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ShutdownPolicy;
use crate::task::Driver;

/// A tokio-io 0.1 stream, as tokio 1's `AsyncRead + AsyncWrite`.
///
/// *Cost*: six allocations when made, none per call; `poll_read` zeroes what of the buffer was
/// never initialized. *Budget*: a unit of [tokio's](crate::task#budget) for each read or write that
/// is ready. *Cancellation*: as with any tokio 1 stream. *Ownership*: this owns the
/// stream, and dropping it closes the socket; [`into_inner`](AsTokio::into_inner) gives it back
/// unharmed.
///
/// A tokio-core socket stays registered with its `Core`: bytes move only while something turns that
/// Core, on whichever thread. Once the Core is gone, reads and writes that would block stay pending
/// for ever. From tokio-core 0.1.13 on the sockets are served by a thread that outlives its Core,
/// and bytes move regardless.
///
/// Vectored writes go through `write_buf`, which tokio-core's `TcpStream` does in one system call;
/// a stream with the default `write_buf` writes the first slice only, so that nothing is lost. No
/// trait of tokio-io says which of the two a stream does. `is_write_vectored` is true only
/// where it is known: for tokio-core's `TcpStream`, by [`HalfClose::is_write_vectored`], and after
/// [`with_vectored_writes`](AsTokio::with_vectored_writes).
///
/// ```
/// use tokio_core_compat::core_thread::CoreThread;
/// use tokio_core_compat::io::{AsTokio, ShutdownPolicy};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let peer = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let addr = peer.local_addr()?;
/// # let echo = tokio::spawn(async move {
/// #     let (mut io, _) = peer.accept().await.unwrap();
/// #     let (mut read, mut write) = io.split();
/// #     tokio::io::copy(&mut read, &mut write).await.unwrap();
/// # });
/// let core = CoreThread::new("legacy")?;
/// let old = core.run(move |handle| tokio_core::net::TcpStream::connect(&addr, handle)).await??;
///
/// let mut io = AsTokio::new(old, ShutdownPolicy::Fin);
/// io.write_all(b"there and back").await?;
/// io.shutdown().await?;
/// let mut back = String::new();
/// io.read_to_string(&mut back).await?;
/// assert_eq!(back, "there and back");
/// # echo.await?;
/// # Ok(())
/// # }
/// ```
pub struct AsTokio<S> {
    io: S,
    /// `None` when there is nothing to close, or it was done.
    half_close: Option<fn(&mut S) -> io::Result<()>>,
    vectored: bool,
    // One each: tokio 1 may poll the directions from two tasks.
    reading: Driver,
    writing: Driver,
}

/// A 0.1 stream whose sending half can be closed by itself.
///
/// tokio-io 0.1 has no such method: its `shutdown` is for the layers above the socket (the
/// `close_notify` of TLS, say). A wrapper around a socket implements this by passing it on; for one
/// from a crate that is not yours there is [`AsTokio::with_half_close`].
pub trait HalfClose {
    /// Closes the sending half of the socket.
    ///
    /// # Errors
    ///
    /// What the system call says. That the socket is not connected any more is no error to
    /// [`AsTokio`]; after any other, the next `poll_shutdown` calls this again.
    fn half_close(&mut self) -> io::Result<()>;

    /// Whether `write_buf` writes all slices in one call: what [`AsTokio`] returns from
    /// `is_write_vectored`. tokio-io's own `write_buf`, which `Box` has too, writes the first only,
    /// so that `false` is the default.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

#[cfg(feature = "core")]
impl HalfClose for tokio_core::net::TcpStream {
    fn half_close(&mut self) -> io::Result<()> {
        tokio_core::net::TcpStream::shutdown(self, std::net::Shutdown::Write)
    }

    /// True: `write_buf` is one call of writev(2).
    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl<S: HalfClose + ?Sized> HalfClose for Box<S> {
    fn half_close(&mut self) -> io::Result<()> {
        (**self).half_close()
    }
}

impl<S: HalfClose> AsTokio<S> {
    /// Wraps a 0.1 stream. `Fin` for what tokio 1 code expects of `shutdown`, `Ignore` to keep what
    /// the 0.1 stream did.
    pub fn new(io: S, policy: ShutdownPolicy) -> AsTokio<S> {
        let half_close = match policy {
            ShutdownPolicy::Fin => Some(S::half_close as fn(&mut S) -> _),
            ShutdownPolicy::Ignore => None,
        };
        AsTokio {
            vectored: io.is_write_vectored(),
            io,
            half_close,
            reading: Driver::new(),
            writing: Driver::new(),
        }
    }
}

impl<S> AsTokio<S> {
    /// Wraps a 0.1 stream that does not implement [`HalfClose`]; `half_close` replaces it.
    pub fn with_half_close(io: S, half_close: fn(&mut S) -> io::Result<()>) -> AsTokio<S> {
        AsTokio {
            io,
            half_close: Some(half_close),
            vectored: false,
            reading: Driver::new(),
            writing: Driver::new(),
        }
    }

    /// Announces vectored writes, for a stream whose `write_buf` writes all slices in one call. For
    /// another nothing is lost, but code that trusts `is_write_vectored` makes a call for each slice.
    #[must_use]
    pub fn with_vectored_writes(mut self) -> AsTokio<S> {
        self.vectored = true;
        self
    }

    /// The stream inside.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// The stream inside. What is polled through this does not see the task; see
    /// [`poll_with`](AsTokio::poll_with).
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.io
    }

    /// Calls a method of the stream that polls, such as a handshake, as a 0.1 task that wakes `cx`.
    pub fn poll_with<R>(&mut self, cx: &mut Context<'_>, call: impl FnOnce(&mut S) -> R) -> R {
        self.reading.enter(cx, || call(&mut self.io))
    }

    /// Gives the stream back, still registered with its Core.
    pub fn into_inner(self) -> S {
        self.io
    }
}

/// Nothing in 0.1 is ever pinned.
impl<S> Unpin for AsTokio<S> {}

impl<S: tokio_io::AsyncRead> AsyncRead for AsTokio<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let AsTokio { io, reading, .. } = self.get_mut();
        let room = buf.initialize_unfilled();
        let n = ready!(reading.poll(cx, || pending(io.read(room))))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: tokio_io::AsyncWrite> AsyncWrite for AsTokio<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let AsTokio { io, writing, .. } = self.get_mut();
        writing.poll(cx, || pending(io.write(buf)))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let AsTokio { io, writing, .. } = self.get_mut();
        let mut slices = Slices {
            slices: bufs,
            offset: 0,
        };
        writing.poll(cx, || poll_tokio(io.write_buf(&mut slices)))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let AsTokio { io, writing, .. } = self.get_mut();
        pending(writing.enter(cx, || io.flush()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let AsTokio {
            io,
            writing,
            half_close,
            ..
        } = self.get_mut();
        ready!(poll_tokio(writing.enter(cx, || io.shutdown())))?;
        if let Some(close) = *half_close {
            match close(io) {
                // The peer was quicker.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                result => result?,
            }
            // Not before: after an error, the next call tries again.
            *half_close = None;
        }
        Poll::Ready(Ok(()))
    }
}

/// Today's slices, as a bytes 0.4 `Buf`.
struct Slices<'a> {
    slices: &'a [IoSlice<'a>],
    /// Into the first slice.
    offset: usize,
}

impl Slices<'_> {
    fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut offset = self.offset;
        self.slices
            .iter()
            .map(move |slice| &slice[std::mem::take(&mut offset)..])
    }
}

impl Buf for Slices<'_> {
    fn remaining(&self) -> usize {
        self.chunks().map(<[u8]>::len).sum()
    }

    fn bytes(&self) -> &[u8] {
        self.chunks()
            .find(|chunk| !chunk.is_empty())
            .unwrap_or_default()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let (first, rest) = self.slices.split_first().expect("advanced past the end");
            let left = first.len() - self.offset;
            if count < left {
                self.offset += count;
                return;
            }
            count -= left;
            self.slices = rest;
            self.offset = 0;
        }
    }

    fn bytes_vec<'a>(&'a self, dst: &mut [&'a IoVec]) -> usize {
        // An `IoVec` cannot be empty.
        let chunks = self.chunks().filter(|chunk| !chunk.is_empty());
        dst.iter_mut()
            .zip(chunks)
            .map(|(vec, chunk)| *vec = chunk.into())
            .count()
    }
}

/// A 0.1 read or write, as std says it.
fn pending<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}

fn poll_tokio<T>(polled: Poll01<T, io::Error>) -> Poll<io::Result<T>> {
    match polled {
        Ok(Async::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Async::NotReady) => Poll::Pending,
        Err(error) => pending(Err(error)),
    }
}
