//! Connections.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use bytes::{Buf, BufMut};
use drop_in_io::{socket, stream, Connecting, STREAM};
use futures::{Async, Future, Poll};
use tokio_io::AsyncWrite;
use tokio_reactor::{Handle, Watched};

use crate::{ucred, UCred};

/// A connection between Unix sockets.
///
/// Reading and writing go through a shared reference as well as an exclusive one. A call that would
/// block fails with `WouldBlock`, and the current task is notified when it is worth another try;
/// outside of a task it panics. At most one task can wait in each direction: the last one. Dropping it
/// closes the socket.
pub struct UnixStream {
    io: Watched<net::UnixStream>,
}

/// A connection that is being opened; made by [`UnixStream::connect`].
///
/// Resolves to the stream. Dropping it closes the socket.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[derive(Debug)]
pub struct ConnectFuture {
    state: Connecting<Watched<net::UnixStream>>,
}

impl UnixStream {
    /// Connects to the socket at `path`, in this call.
    pub fn connect<P>(path: P) -> ConnectFuture
    where
        P: AsRef<Path>,
    {
        let begun = socket::connect_unix(path.as_ref());
        ConnectFuture {
            state: begun.map(|stream| Watched::new(stream, STREAM)).into(),
        }
    }

    /// Takes over a std stream.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(stream: net::UnixStream, handle: &Handle) -> io::Result<UnixStream> {
        stream.set_nonblocking(true)?;
        Ok(UnixStream {
            io: Watched::with_handle(stream, STREAM, handle)?,
        })
    }

    /// Makes two sockets that are connected.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = net::UnixStream::pair()?;
        let handle = Handle::default();
        Ok((
            UnixStream::from_std(a, &handle)?,
            UnixStream::from_std(b, &handle)?,
        ))
    }

    /// Ready with those events of `ready` that are known, and `hup`. Otherwise the current task is
    /// notified when there are some.
    ///
    /// # Panics
    ///
    /// If `ready` has `writable`; outside of a task, when no event is known.
    pub fn poll_read_ready(&self, ready: mio::Ready) -> Poll<mio::Ready, io::Error> {
        self.io.poll_read_ready(ready)
    }

    /// Ready if there may be room to write, or an error. Otherwise the current task is notified when
    /// there is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        self.io.poll_write_ready()
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Returns the user and the group of the process at the other end, when it connected.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        ucred::of_peer(self.io.get_ref())
    }

    /// Returns the error that the system keeps for the socket, and forgets it.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Closes one direction or both.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }

    fn poll_read_buf<B: BufMut>(&self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_read_buf(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl Future for ConnectFuture {
    type Item = UnixStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<UnixStream, io::Error> {
        let connected = self.state.poll(
            Watched::poll_write_ready,
            |io| io.get_ref().take_error(),
            "can't poll stream twice",
        )?;
        Ok(connected.map(UnixStream::from))
    }
}

impl From<Watched<net::UnixStream>> for UnixStream {
    fn from(io: Watched<net::UnixStream>) -> UnixStream {
        UnixStream { io }
    }
}

impl Read for UnixStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }
}

impl Read for &UnixStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        stream::read(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl Write for UnixStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &UnixStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        stream::write(self.io.readiness()?, self.io.get_ref(), buf)
    }

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

drop_in_io::async_read!(UnixStream);
drop_in_io::async_read!(&UnixStream);

impl AsyncWrite for UnixStream {
    /// Does nothing: [`UnixStream::shutdown`] closes, and so does dropping the stream.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    /// Writes up to 64 pieces of `buf` in one call of the system.
    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll<usize, io::Error> {
        (&*self).write_buf(buf)
    }
}

impl AsyncWrite for &UnixStream {
    /// Does nothing: [`UnixStream::shutdown`] closes, and so does dropping the stream.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    /// Writes up to 64 pieces of `buf` in one call of the system.
    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_write_buf(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl AsRawFd for UnixStream {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for UnixStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
