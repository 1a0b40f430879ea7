//! The trait of the streams that the relay carries: hints of readiness, splice(2), errors, reset.

use std::future::{pending, Future};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{ready, Context, Poll};
use std::time::Duration;

use ptunnel::os::unacknowledged;
use rustix::net::{recv, send, RecvFlags, SendFlags};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::TcpStream;

use super::UnixSocket;

/// A byte stream that can be relayed.
///
/// The root's trait of this name also says whether a short read has drained the stream. tokio knows
/// that: after a short read it takes the readiness back, unless the peer's end was reported with it,
/// so that one read more costs no system call.
///
/// That is wrong for urgent data, and a known limit of the rungs from r3 on: recv(2) stops at the
/// urgent mark once it has copied something, and these sockets don't register for `EPOLLPRI`, as the
/// root's do. So the bytes after the mark can wait for the next event.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Returns whether the stream can be spliced, by system calls on the descriptor.
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

    /// Runs `call` likewise when the descriptor is writable.
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

    /// Reads, if the stream is known to be readable; `None` when nothing was tried. No task is
    /// woken afterwards: for callers without a `Context`.
    fn read_now(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let _ = buffer;
        None
    }

    /// Writes, if the stream is known to be writable, likewise.
    fn write_now(&self, bytes: &[u8]) -> Option<io::Result<usize>> {
        let _ = bytes;
        None
    }

    /// Returns the error that the stream is known to have met, once; for a direction that isn't
    /// read now.
    fn error(&self) -> Option<io::Error> {
        None
    }

    /// Resolves to such an error once the stream meets one, without reading; its mere end is none.
    /// Never resolves if the stream cannot know.
    fn failed(&self) -> impl Future<Output = io::Error> {
        pending()
    }

    /// Returns the number of written bytes that haven't arrived at the peer yet, which a
    /// [`reset`](Transport::reset) would discard; 0 if none would be lost, or if it isn't known.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// Makes dropping this stream reset the connection (TCP's RST) instead of ending it in order.
    fn reset(&self) {}
}

/// The two kinds of tokio's sockets have the same methods, but no common trait.
macro_rules! transport {
    ($($Stream:ty: $short_read_drains:literal, $unacknowledged:expr;)*) => {$(
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
                    // `try_io` has taken the readiness back: the next poll registers the task.
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

            fn read_now(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
                let mut answer = None;
                // Its own answer is nothing new: that of the call, or that there was none.
                let _ = self.try_io(Interest::READABLE, || {
                    let most = buffer.len();
                    let received = recv(self.as_fd(), buffer, RecvFlags::empty());
                    let received = received.map(|(_, count)| count).map_err(io::Error::from);
                    let most = if $short_read_drains { most } else { 0 };
                    readiness_after(answer.insert(received), most)
                });
                answer
            }

            fn write_now(&self, bytes: &[u8]) -> Option<io::Result<usize>> {
                let mut answer = None;
                let _ = self.try_io(Interest::WRITABLE, || {
                    let sent = send(self.as_fd(), bytes, SendFlags::NOSIGNAL);
                    let sent = sent.map_err(io::Error::from);
                    readiness_after(answer.insert(sent), bytes.len())
                });
                answer
            }

            fn error(&self) -> Option<io::Error> {
                self.take_error().unwrap_or_else(Some)
            }

            async fn failed(&self) -> io::Error {
                loop {
                    if let Err(e) = self.ready(Interest::ERROR).await {
                        return e;
                    }
                    if let Some(e) = self.error() {
                        return e;
                    }
                    // Returned already: wait for the next event.
                    let returned = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                    let _ = self.try_io(Interest::ERROR, returned);
                }
            }

            fn unacknowledged(&self) -> usize {
                $unacknowledged(self)
            }

            fn reset(&self) {
                // Fails on a Unix stream, which knows no RST: there the end has to do.
                let _ = SockRef::from(&self.as_fd()).set_linger(Some(Duration::ZERO));
            }
        }
    )*};
}

transport! {
    TcpStream: true, |socket| unacknowledged(socket).unwrap_or(0);
    // What was written to one lies with its reader, and stays there.
    UnixSocket: false, |_| 0;
}

/// Returns the result to give `try_io` for a call that was to move `most` bytes.
///
/// One that moves less leaves nothing to do for the next, unless `most` is 0: as in tokio's own
/// `poll_read` and `poll_write`, the readiness is taken back.
fn readiness_after(answer: &io::Result<usize>, most: usize) -> io::Result<()> {
    match answer {
        Ok(count) if (1..most).contains(count) => Err(io::ErrorKind::WouldBlock.into()),
        _ if would_block(answer) => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

fn would_block<T>(tried: &io::Result<T>) -> bool {
    matches!(tried, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
}
