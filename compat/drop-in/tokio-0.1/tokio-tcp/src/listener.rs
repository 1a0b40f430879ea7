//! Listening for TCP connections.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use drop_in_io::{block, socket, READ_WRITE, STREAM};
use futures::{try_ready, Async, Poll, Stream};
use tokio_reactor::{Handle, Watched};

use crate::TcpStream;

/// Connections that the system lets wait for `accept`.
const BACKLOG: i32 = 1024;

/// A TCP socket that accepts connections. Dropping it closes the socket.
pub struct TcpListener {
    io: Watched<net::TcpListener>,
}

/// A stream of accepted connections that never ends; made by [`TcpListener::incoming`].
///
/// An error doesn't end it, either: it can be polled again.
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Incoming {
    inner: TcpListener,
}

impl TcpListener {
    /// Binds a socket to `addr`, with `SO_REUSEADDR`, and listens with a backlog of 1024. Port 0 is
    /// a free port. The default reactor watches it from the first poll on.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`.
    pub fn bind(addr: &SocketAddr) -> io::Result<TcpListener> {
        Ok(TcpListener {
            io: Watched::new(socket::listen(addr, BACKLOG)?, READ_WRITE),
        })
    }

    /// Takes over a std listener.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(listener: net::TcpListener, handle: &Handle) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        Ok(TcpListener {
            io: Watched::with_handle(listener, READ_WRITE, handle)?,
        })
    }

    /// Ready with a connection and the peer's address. If none is waiting, the current task is
    /// notified when one is.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. that the process has no descriptor left (`EMFILE`). The
    /// connection then stays in the backlog, and the next call tries again: to wait meanwhile is up to
    /// the caller.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no connection is waiting.
    pub fn poll_accept(&mut self) -> Poll<(TcpStream, SocketAddr), io::Error> {
        let (stream, addr) = try_ready!(self.poll_accept_std());
        stream.set_nonblocking(true)?;
        let stream = TcpStream::from(Watched::new(stream, STREAM));
        Ok(Async::Ready((stream, addr)))
    }

    /// The same, with a std stream in blocking mode that no reactor watches.
    ///
    /// # Errors
    ///
    /// As [`poll_accept`](TcpListener::poll_accept).
    ///
    /// # Panics
    ///
    /// As [`poll_accept`](TcpListener::poll_accept).
    pub fn poll_accept_std(&mut self) -> Poll<(net::TcpStream, SocketAddr), io::Error> {
        self.io.poll_read(|listener| listener.accept())
    }

    /// Accepts a connection; fails with `WouldBlock` when none is waiting.
    #[deprecated(since = "0.1.2", note = "use poll_accept")]
    #[doc(hidden)]
    pub fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        block(self.poll_accept())
    }

    /// Accepts a connection as a std stream; fails with `WouldBlock` when none is waiting.
    #[deprecated(since = "0.1.2", note = "use poll_accept_std")]
    #[doc(hidden)]
    pub fn accept_std(&mut self) -> io::Result<(net::TcpStream, SocketAddr)> {
        block(self.poll_accept_std())
    }

    /// Returns the address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Turns the listener into a stream of connections.
    pub fn incoming(self) -> Incoming {
        Incoming { inner: self }
    }

    /// Returns `IP_TTL`, the number of hops that packets may take.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets `IP_TTL`.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }
}

impl Stream for Incoming {
    type Item = TcpStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<TcpStream>, io::Error> {
        let (stream, _) = try_ready!(self.inner.poll_accept());
        Ok(Async::Ready(Some(stream)))
    }
}

impl AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
