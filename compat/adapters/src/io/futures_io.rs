//! futures-io's traits, from and to tokio-io 0.1's.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{AsIo01, AsTokio, HalfClose, ShutdownPolicy};

/// A tokio-io 0.1 stream, as futures-io's `AsyncRead + AsyncWrite`.
///
/// Cost, cancellation, ownership and half-close are those of [`AsTokio`], which this is with other
/// traits; `poll_close` is its `poll_shutdown`.
///
/// ```
/// use futures_util::{AsyncReadExt as _, AsyncWriteExt as _};
/// use tokio_core_compat::io::{AsFuturesIo, AsIo01, ShutdownPolicy};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, far) = tokio::io::duplex(64);
/// // Stands for a stream of yours, over tokio-io 0.1's traits.
/// let old = |io| AsIo01::new(io, ShutdownPolicy::Fin);
/// let mut near = AsFuturesIo::with_half_close(old(near), |_| Ok(()));
/// let mut far = AsFuturesIo::with_half_close(old(far), |_| Ok(()));
///
/// near.write_all(b"over there").await?;
/// near.close().await?;
/// let mut read = String::new();
/// far.read_to_string(&mut read).await?;
/// assert_eq!(read, "over there");
/// # Ok(())
/// # }
/// ```
pub struct AsFuturesIo<S> {
    io: AsTokio<S>,
}

impl<S: HalfClose> AsFuturesIo<S> {
    /// Wraps a 0.1 stream. See [`AsTokio::new`].
    pub fn new(io: S, policy: ShutdownPolicy) -> AsFuturesIo<S> {
        let io = AsTokio::new(io, policy);
        AsFuturesIo { io }
    }
}

impl<S> AsFuturesIo<S> {
    /// Wraps a 0.1 stream that does not implement [`HalfClose`]; `half_close` replaces it.
    pub fn with_half_close(io: S, half_close: fn(&mut S) -> io::Result<()>) -> AsFuturesIo<S> {
        let io = AsTokio::with_half_close(io, half_close);
        AsFuturesIo { io }
    }

    /// The stream inside.
    pub fn get_ref(&self) -> &S {
        self.io.get_ref()
    }

    /// The stream inside. What is polled through this does not see the task.
    pub fn get_mut(&mut self) -> &mut S {
        self.io.get_mut()
    }

    /// Gives the stream back.
    pub fn into_inner(self) -> S {
        self.io.into_inner()
    }
}

impl<S: tokio_io::AsyncRead> futures_io::AsyncRead for AsFuturesIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl<S: tokio_io::AsyncWrite> futures_io::AsyncWrite for AsFuturesIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// A stream of futures-io with tokio 1's traits: what [`AsIo01::from_futures_io`] wraps.
///
/// *Cost*: none but that reading initializes the rest of the buffer first. *Cancellation* and
/// *ownership*: as the stream inside.
pub struct FuturesIo<S> {
    io: S,
}

impl<S> FuturesIo<S> {
    /// Wraps a stream of futures-io.
    pub fn new(io: S) -> FuturesIo<S> {
        FuturesIo { io }
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

impl<S> AsIo01<FuturesIo<S>> {
    /// Wraps a stream of futures-io, as [`AsIo01::new`] does one of tokio 1. `Fin` calls its
    /// `poll_close`.
    ///
    /// ```
    /// use futures_util::io::Cursor;
    /// use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
    /// use tokio_core_compat::task::AsStd;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let old = AsIo01::from_futures_io(Cursor::new(b"a file".to_vec()), ShutdownPolicy::Fin);
    /// let (_, read) = AsStd::new(tokio_io::io::read_to_end(old, Vec::new())).await?;
    /// assert_eq!(read, b"a file");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_futures_io(io: S, policy: ShutdownPolicy) -> AsIo01<FuturesIo<S>> {
        AsIo01::new(FuturesIo::new(io), policy)
    }
}

impl<S: futures_io::AsyncRead + Unpin> AsyncRead for FuturesIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.initialize_unfilled();
        let n = ready!(Pin::new(&mut self.io).poll_read(cx, room))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: futures_io::AsyncWrite + Unpin> AsyncWrite for FuturesIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_close(cx)
    }
}
