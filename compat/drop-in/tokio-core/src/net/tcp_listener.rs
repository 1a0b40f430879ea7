//! Listening for TCP connections.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use drop_in_io::{options, socket};
use futures::{Async, Poll, Stream};
use tokio::runtime;

use super::TcpStream;
use crate::reactor::{default_runtime, Handle, Source};

/// Connections that the system lets wait for `accept`.
const BACKLOG: i32 = 1024;

/// A TCP socket that accepts connections. Dropping it closes the socket.
pub struct TcpListener {
    io: Source<net::TcpListener>,
}

/// A stream of accepted connections that never ends; made by [`TcpListener::incoming`].
///
/// An error doesn't end it, either: it can be polled again.
#[must_use = "streams do nothing unless polled"]
pub struct Incoming {
    inner: TcpListener,
}

impl TcpListener {
    /// Binds a socket to `addr`, with `SO_REUSEADDR`, and listens with a backlog of 1024. Port 0 is
    /// a free port.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`, or when the `Core` is gone.
    pub fn bind(addr: &SocketAddr, handle: &Handle) -> io::Result<TcpListener> {
        Ok(TcpListener {
            io: Source::new(socket::listen(addr, BACKLOG)?, handle)?,
        })
    }

    /// The same, for the runtime that this is called in: that of the running `Core`, or one of tokio
    /// 1. Elsewhere, a thread in the background watches the socket.
    ///
    /// # Errors
    ///
    /// With the system's error.
    pub fn bind2(addr: &SocketAddr) -> io::Result<TcpListener> {
        TcpListener::on(socket::listen(addr, BACKLOG)?, &default_runtime()?)
    }

    fn on(listener: net::TcpListener, runtime: &runtime::Handle) -> io::Result<TcpListener> {
        Ok(TcpListener {
            io: Source::on(listener, runtime)?,
        })
    }

    /// Accepts a connection, which belongs to the listener's `Core`, and returns it with the peer's
    /// address.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when none is waiting; the current task is then notified when one is. Else the
    /// system's error, e.g. that the process has no descriptor left (`EMFILE`). The connection then
    /// stays in the backlog, and the next call tries again: to wait meanwhile is up to the caller.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no connection is waiting.
    pub fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, addr) = self.accept_std()?;
        stream.set_nonblocking(true)?;
        let io = Source::stream_on(stream, self.io.runtime())?;
        Ok((TcpStream::from(io), addr))
    }

    /// The same, with a std stream in blocking mode that belongs to no `Core`.
    ///
    /// # Errors
    ///
    /// As [`accept`](TcpListener::accept).
    ///
    /// # Panics
    ///
    /// As [`accept`](TcpListener::accept).
    pub fn accept_std(&mut self) -> io::Result<(net::TcpStream, SocketAddr)> {
        self.io.read_with(|listener| listener.accept())
    }

    /// Takes over a std listener. `_addr`, its address, isn't used.
    ///
    /// # Errors
    ///
    /// When the `Core` is gone, or the system's error.
    pub fn from_listener(
        listener: net::TcpListener,
        _addr: &SocketAddr,
        handle: &Handle,
    ) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        Ok(TcpListener {
            io: Source::new(listener, handle)?,
        })
    }

    /// Returns whether a connection may be waiting. If not, the current task is notified when one
    /// is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no connection is waiting.
    pub fn poll_read(&self) -> Async<()> {
        self.io.poll_read()
    }

    /// Returns the address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Turns the listener into a stream of connections.
    pub fn incoming(self) -> Incoming {
        Incoming { inner: self }
    }

    /// Sets `IP_TTL`, the number of hops that packets may take.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Returns `IP_TTL`.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets `IPV6_V6ONLY`: whether an IPv6 socket refuses IPv4. The system takes it only before the
    /// socket is bound, i.e. never here.
    pub fn set_only_v6(&self, only_v6: bool) -> io::Result<()> {
        options::set_only_v6(self.io.get_ref(), only_v6)
    }

    /// Returns `IPV6_V6ONLY`.
    pub fn only_v6(&self) -> io::Result<bool> {
        options::only_v6(self.io.get_ref())
    }
}

impl Stream for Incoming {
    type Item = (TcpStream, SocketAddr);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<Self::Item>, io::Error> {
        Ok(Async::Ready(Some(try_nb!(self.inner.accept()))))
    }
}

impl AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> RawFd {
        self.io.get_ref().as_raw_fd()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.get_ref().fmt(f)
    }
}
