//! Streams of bytes that several owners read and write by reference.

use std::io::{self, IoSlice, Read, Write};

use bytes::Buf;
use futures01::{Async, Poll as Poll01};
use rustix::net::{shutdown, Shutdown};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use super::{not_ready, Directions, Readiness};
use crate::io::{AsIo01, ShutdownPolicy, Slices};

/// A stream of tokio's that is read and written by reference: `TcpStream` and `UnixStream`.
pub trait SharedStream: Readiness {
    /// Reads, or returns `WouldBlock` and forgets that the stream is readable.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    fn try_read(&self, buf: &mut [u8]) -> io::Result<usize>;

    /// Writes, or returns `WouldBlock` and forgets that the stream is writable.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    fn try_write(&self, buf: &[u8]) -> io::Result<usize>;

    /// Writes several slices in one call, or returns `WouldBlock` and forgets that the stream is
    /// writable.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;
}

macro_rules! shared_stream {
    ($($stream:ty),*) => {$(
        impl SharedStream for $stream {
            fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.try_read(buf)
            }

            fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.try_write(buf)
            }

            fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.try_write_vectored(bufs)
            }
        }
    )*};
}

shared_stream!(TcpStream, UnixStream);

/// Readiness by hand, as tokio-core's `TcpStream` and `PollEvented` had it. See [`net`](crate::net).
///
/// Each of these panics outside of a 0.1 task.
impl<S: Readiness> AsIo01<S> {
    /// Says whether reading is worth a try. If not, the current task is notified when it is.
    ///
    /// A call of your own on [`get_ref`](AsIo01::get_ref) that would block after this said `Ready`
    /// leaves no task registered: call [`need_read`](AsIo01::need_read) then, or make the call in
    /// [`read_with`](AsIo01::read_with). A read through the wrapper registers the task itself.
    pub fn poll_read(&self) -> Async<()> {
        self.directions().poll_read()
    }

    /// Registers the current task after a read of your own that would block.
    ///
    /// *Cost*: a poll(2), to learn whether data has come since. If it has, the task is notified at
    /// once, and nothing is lost.
    pub fn need_read(&self) {
        self.directions().need_read();
    }

    /// Says whether writing is worth a try. If not, the current task is notified when it is. As with
    /// [`poll_read`](AsIo01::poll_read), a call of your own that would block after this said `Ready`
    /// has to be followed by [`need_write`](AsIo01::need_write).
    pub fn poll_write(&self) -> Async<()> {
        self.directions().poll_write()
    }

    /// Registers the current task after a write of your own that would block. It costs what
    /// [`need_read`](AsIo01::need_read) does.
    pub fn need_write(&self) {
        self.directions().need_write();
    }

    /// Calls `f`, which reads from the socket's descriptor, until it does something else than to
    /// block, or until the task has to wait.
    ///
    /// `f` must return `WouldBlock` for this socket alone. If it does for another reason while there is
    /// data (a pipe that is full, with splice(2)), tokio forgets the data, and the task sleeps until
    /// more comes: return another value then, or use [`need_read`](AsIo01::need_read).
    ///
    /// # Errors
    ///
    /// Those of `f`. `WouldBlock` when the current task has been registered for reading.
    pub fn read_with<R>(&self, mut f: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.directions()
            .read(|io| io.try_io(Interest::READABLE, || f(io)))
    }

    /// The same for writing.
    ///
    /// # Errors
    ///
    /// Those of `f`. `WouldBlock` when the current task has been registered for writing.
    pub fn write_with<R>(&self, mut f: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.directions()
            .write(|io| io.try_io(Interest::WRITABLE, || f(io)))
    }

    fn directions(&self) -> Directions<'_, S> {
        let (reading, writing) = self.crossings();
        Directions {
            io: self.get_ref(),
            reading,
            writing,
        }
    }
}

/// Reads by reference, so that a stream can be shared: `Rc<AsIo01<TcpStream>>`, read as `&*rc`.
///
/// *Cost*: as the owned stream, and two uncontended locks. *Cancellation* and *ownership*: as the
/// owned stream; the socket closes with the last owner.
///
/// ```
/// use std::rc::Rc;
/// use tokio::net::{TcpListener, TcpStream};
/// use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
/// use tokio_core_compat::prelude::*;
///
/// /// One owner of a connection that has several.
/// #[derive(Clone)]
/// struct Shared(Rc<AsIo01<TcpStream>>);
///
/// impl std::io::Read for Shared {
///     fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
///         (&*self.0).read(buf)
///     }
/// }
///
/// impl tokio_io::AsyncRead for Shared {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let near = TcpStream::connect(listener.local_addr()?).await?;
/// let (far, _) = listener.accept().await?;
/// far.try_write(b"hello")?;
///
/// let shared = Shared(Rc::new(near.into_io_01(ShutdownPolicy::Fin)));
/// let (_, hello) = tokio_io::io::read_exact(shared.clone(), [0; 5]).into_std().await?;
/// assert_eq!(&hello, b"hello");
/// assert_eq!(shared.0.get_ref().peer_addr()?, listener.local_addr()?);
/// # Ok(())
/// # }
/// ```
impl<S: SharedStream> Read for &AsIo01<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.directions().read(|io| io.try_read(buf))
    }
}

impl<S: SharedStream> tokio_io::AsyncRead for &AsIo01<S> {}

/// Writes by reference, as it is read.
impl<S: SharedStream> Write for &AsIo01<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.directions().write(|io| io.try_write(buf))
    }

    /// A socket buffers nothing on this side of the system.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: SharedStream> tokio_io::AsyncWrite for &AsIo01<S> {
    /// With [`ShutdownPolicy::Fin`] it is for all owners at once: what they write afterwards fails.
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        if self.policy() == ShutdownPolicy::Fin {
            match shutdown(self.get_ref(), Shutdown::Write).map_err(io::Error::from) {
                // The peer was quicker.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                result => result?,
            }
        }
        Ok(Async::Ready(()))
    }

    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll01<usize, io::Error> {
        if !buf.has_remaining() {
            return Ok(Async::Ready(0));
        }
        let slices = Slices::of(buf);
        let wrote = self
            .directions()
            .write(|io| io.try_write_vectored(slices.as_slice()));
        let wrote = not_ready(wrote)?;
        if let Async::Ready(n) = wrote {
            buf.advance(n);
        }
        Ok(wrote)
    }
}
