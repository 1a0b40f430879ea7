//! Datagram sockets.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use drop_in_io::READ_WRITE;
use futures::Poll;
use tokio_reactor::{Handle, Watched};

use crate::{RecvDgram, SendDgram};

/// A Unix datagram socket.
///
/// A call that would block is not ready, and the current task is notified when it is worth another try;
/// outside of a task it panics. At most one task can wait in each direction: the last one. Dropping it
/// closes the socket, and leaves its file.
pub struct UnixDatagram {
    io: Watched<net::UnixDatagram>,
}

impl UnixDatagram {
    /// Binds a socket to `path`, which must not exist.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`.
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        UnixDatagram::from_std(net::UnixDatagram::bind(path)?, &Handle::default())
    }

    /// Makes two sockets that are connected.
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = net::UnixDatagram::pair()?;
        let handle = Handle::default();
        Ok((
            UnixDatagram::from_std(a, &handle)?,
            UnixDatagram::from_std(b, &handle)?,
        ))
    }

    /// Takes over a std socket.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(datagram: net::UnixDatagram, handle: &Handle) -> io::Result<UnixDatagram> {
        datagram.set_nonblocking(true)?;
        Ok(UnixDatagram {
            io: Watched::with_handle(datagram, READ_WRITE, handle)?,
        })
    }

    /// Makes a socket without an address.
    pub fn unbound() -> io::Result<UnixDatagram> {
        UnixDatagram::from_std(net::UnixDatagram::unbound()?, &Handle::default())
    }

    /// Sets the address that [`poll_send`](UnixDatagram::poll_send) sends to, and the only one from
    /// which datagrams are received.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.get_ref().connect(path)
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

    /// Ready if there may be room to send. Otherwise the current task is notified when there is.
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

    /// Receives a datagram; ready with its length and where it came from. What doesn't fit into `buf` is
    /// lost.
    pub fn poll_recv_from(&self, buf: &mut [u8]) -> Poll<(usize, SocketAddr), io::Error> {
        self.io.poll_read(|socket| socket.recv_from(buf))
    }

    /// Receives a datagram; ready with its length.
    pub fn poll_recv(&self, buf: &mut [u8]) -> Poll<usize, io::Error> {
        self.io.poll_read(|socket| socket.recv(buf))
    }

    /// Returns a future that receives a datagram into `buf`, and gives socket and buffer back.
    pub fn recv_dgram<T>(self, buf: T) -> RecvDgram<T>
    where
        T: AsMut<[u8]>,
    {
        RecvDgram::new(self, buf)
    }

    /// Sends a datagram to `path`; ready with its length.
    pub fn poll_send_to<P>(&self, buf: &[u8], path: P) -> Poll<usize, io::Error>
    where
        P: AsRef<Path>,
    {
        self.io.poll_write(|socket| socket.send_to(buf, path))
    }

    /// Sends a datagram to the address of [`connect`](UnixDatagram::connect); ready with its length.
    pub fn poll_send(&self, buf: &[u8]) -> Poll<usize, io::Error> {
        self.io.poll_write(|socket| socket.send(buf))
    }

    /// Returns a future that sends `buf` as one datagram, and gives socket and buffer back.
    pub fn send_dgram<T, P>(self, buf: T, path: P) -> SendDgram<T, P>
    where
        T: AsRef<[u8]>,
        P: AsRef<Path>,
    {
        SendDgram::new(self, buf, path)
    }

    /// Returns the error that the system keeps for the socket, and forgets it.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Closes one direction or both.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }
}

impl AsRawFd for UnixDatagram {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
