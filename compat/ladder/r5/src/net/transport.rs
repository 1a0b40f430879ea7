//! What the relay asks of a stream besides reading and writing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{ready, Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

/// A byte stream that can be relayed.
///
/// The root's trait of this name also asks whether a short read has drained the stream. Here
/// nobody has to: after a short read tokio takes the readiness back, unless the peer's end was
/// reported with it, so that one read more costs no system call.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Whether bytes may go round this process, by system calls on the descriptor.
    fn can_splice(&self) -> bool {
        false
    }

    /// Runs `call` on the descriptor when it is readable, again after each `WouldBlock`.
    ///
    /// # Errors
    ///
    /// Those of `call`; `Unsupported` when this stream can't be spliced.
    fn poll_readable<T>(
        &self,
        cx: &mut Context<'_>,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let _ = (cx, call);
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// The same, when it is writable.
    ///
    /// # Errors
    ///
    /// Those of `call`; `Unsupported` when this stream can't be spliced.
    fn poll_writable<T>(
        &self,
        cx: &mut Context<'_>,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let _ = (cx, call);
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// The error that the stream is known to have met, for those who don't read from it now; told
    /// once.
    fn error(&self) -> Option<io::Error> {
        None
    }

    /// Makes dropping this stream tell the peer that it was cut off (TCP's RST), instead of an
    /// orderly end.
    fn reset(&self) {}
}

/// The two kinds of tokio's sockets have the same methods, but no trait that says so.
macro_rules! transport {
    ($($Stream:ty),*) => {$(
        impl Transport for $Stream {
            fn can_splice(&self) -> bool {
                true
            }

            fn poll_readable<T>(
                &self,
                cx: &mut Context<'_>,
                mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
            ) -> Poll<io::Result<T>> {
                loop {
                    ready!(self.poll_read_ready(cx))?;
                    let tried = self.try_io(Interest::READABLE, || call(self.as_fd()));
                    // `try_io` has taken the readiness back: the next look registers us.
                    if !would_block(&tried) {
                        return Poll::Ready(tried);
                    }
                }
            }

            fn poll_writable<T>(
                &self,
                cx: &mut Context<'_>,
                mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
            ) -> Poll<io::Result<T>> {
                loop {
                    ready!(self.poll_write_ready(cx))?;
                    let tried = self.try_io(Interest::WRITABLE, || call(self.as_fd()));
                    if !would_block(&tried) {
                        return Poll::Ready(tried);
                    }
                }
            }

            fn error(&self) -> Option<io::Error> {
                self.take_error().unwrap_or_else(Some)
            }

            fn reset(&self) {
                // Fails on a Unix stream, which knows no RST: there the end has to do.
                let _ = SockRef::from(self).set_linger(Some(Duration::ZERO));
            }
        }
    )*};
}

transport!(TcpStream, UnixStream);

fn would_block<T>(tried: &io::Result<T>) -> bool {
    matches!(tried, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
}
