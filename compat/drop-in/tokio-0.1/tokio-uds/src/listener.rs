//! Listening for connections.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use drop_in_io::{READ_WRITE, STREAM};
use futures::{try_ready, Async, Poll, Stream};
use tokio_reactor::{Handle, Watched};

use crate::UnixStream;

/// A Unix socket that accepts connections. Dropping it closes the socket, and leaves its file.
pub struct UnixListener {
    io: Watched<net::UnixListener>,
}

/// A stream of accepted connections that never ends; made by [`UnixListener::incoming`].
///
/// An error doesn't end it, either: it can be polled again.
#[derive(Debug)]
pub struct Incoming {
    inner: UnixListener,
}

impl UnixListener {
    /// Binds a socket to `path`, which must not exist, and listens.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`.
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        UnixListener::from_std(net::UnixListener::bind(path)?, &Handle::default())
    }

    /// Takes over a std listener.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(listener: net::UnixListener, handle: &Handle) -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        Ok(UnixListener {
            io: Watched::with_handle(listener, READ_WRITE, handle)?,
        })
    }

    /// Returns the address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Ready if a connection may be waiting. Otherwise the current task is notified when one is.
    ///
    /// # Panics
    ///
    /// If `ready` has `writable`; outside of a task, when no connection is waiting.
    pub fn poll_read_ready(&self, ready: mio::Ready) -> Poll<mio::Ready, io::Error> {
        self.io.poll_read_ready(ready)
    }

    /// Returns the error that the system keeps for the socket, and forgets it.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Ready with a connection and the peer's address. If none is waiting, the current task is notified
    /// when one is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no connection is waiting.
    pub fn poll_accept(&self) -> Poll<(UnixStream, SocketAddr), io::Error> {
        let (stream, addr) = try_ready!(self.poll_accept_std());
        stream.set_nonblocking(true)?;
        let stream = UnixStream::from(Watched::new(stream, STREAM));
        Ok(Async::Ready((stream, addr)))
    }

    /// The same, with a std stream in blocking mode that no reactor watches.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no connection is waiting.
    pub fn poll_accept_std(&self) -> Poll<(net::UnixStream, SocketAddr), io::Error> {
        self.io.poll_read(|listener| listener.accept())
    }

    /// Turns the listener into a stream of connections.
    pub fn incoming(self) -> Incoming {
        Incoming { inner: self }
    }
}

impl Stream for Incoming {
    type Item = UnixStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<UnixStream>, io::Error> {
        let (stream, _) = try_ready!(self.inner.poll_accept());
        Ok(Async::Ready(Some(stream)))
    }
}

impl AsRawFd for UnixListener {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
