//! Connected stream sockets: tokio-core's `TcpStream`, with an end and with errors.
//!
//! `TcpStream` hides its readiness, and its `AsyncWrite::shutdown` does nothing. [`Socket`] sends
//! FIN at `shutdown`. It can't be spliced and doesn't report that it is drained, so the relay reads
//! until a read would block.
//!
//! Invariant: a call that returns `WouldBlock` has arranged for the current task to be notified.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use futures::{Async, Future, Poll};
use socket2::{Domain, Protocol, SockRef, Type};
use tokio_core::net::TcpStream;
use tokio_io::{AsyncRead, AsyncWrite};

use super::bound_socket::set_keepalive;
use super::recheck::Recheck;
use super::{Handle, Transport};
use crate::config::Keepalive;
use crate::os::exhaustion::connect_error;
use crate::os::unacknowledged;
use crate::text::debug::debug_by_name;

/// Time between two checks of a readable socket for an error.
const RECHECK: Duration = Duration::from_millis(100);

/// A connected TCP or Unix stream.
///
/// tokio-core has no Unix sockets, but what its `TcpStream` calls (recv, send, shutdown) is the same for
/// any stream socket. Dropping the socket closes the connection.
pub struct Socket {
    io: TcpStream,
    handle: Handle,
    recheck: Recheck,
    is_unix: bool,
}

impl Socket {
    /// Begins to connect to `address`, before the returned future is polled.
    ///
    /// # Errors
    ///
    /// The errors of socket(2), such as `EMFILE`.
    pub fn connect(
        address: &SocketAddr,
        keepalive: Option<Keepalive>,
        handle: &Handle,
    ) -> io::Result<Connecting> {
        let kind = Type::STREAM.cloexec();
        let io = socket2::Socket::new(Domain::for_address(*address), kind, Some(Protocol::TCP))?;
        io.set_nodelay(true)?;
        set_keepalive(&io, keepalive)?;
        Ok(Connecting {
            stream: TcpStream::connect_stream(io.into(), address, handle.core()),
            address: *address,
            handle: handle.clone(),
        })
    }

    /// Registers a Unix stream that ptunnel has made, such as one end of a pair.
    ///
    /// # Errors
    ///
    /// The errors of fcntl(2) and epoll_ctl(2).
    pub fn from_unix(stream: UnixStream, handle: &Handle) -> io::Result<Socket> {
        Socket::from_accepted(stream.into(), true, handle)
    }

    pub(super) fn from_accepted(
        io: socket2::Socket,
        is_unix: bool,
        handle: &Handle,
    ) -> io::Result<Socket> {
        let io = TcpStream::from_stream(io.into(), handle.core())?;
        Ok(Socket::new(io, is_unix, handle))
    }

    pub(super) fn of_tcp(io: TcpStream, handle: &Handle) -> Socket {
        Socket::new(io, false, handle)
    }

    fn new(io: TcpStream, is_unix: bool, handle: &Handle) -> Socket {
        Socket {
            io,
            handle: handle.clone(),
            recheck: Recheck::default(),
            is_unix,
        }
    }

    /// Returns the peer's address and this side's; `None` for a Unix socket, and after a reset.
    pub(crate) fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.io.peer_addr().ok()?, self.io.local_addr().ok()?))
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.io.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Socket {}

impl AsyncWrite for Socket {
    /// Sends FIN: the peer reads the end of the stream, and can go on sending.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        match self.io.shutdown(Shutdown::Write) {
            // The peer has reset the connection, which the next read reports.
            Err(ref e) if e.kind() == io::ErrorKind::NotConnected => Ok(Async::Ready(())),
            answer => answer.map(Async::Ready),
        }
    }
}

impl Transport for Socket {
    fn is_blocked(&mut self) -> bool {
        !self.io.poll_read().is_ready()
    }

    /// tokio-core reports an error as readable, and reports nothing about a readable socket until a
    /// read would block. A socket with unread bytes, or at its end, is therefore checked each
    /// [`RECHECK`].
    fn check(&mut self) -> io::Result<()> {
        if !self.io.poll_read().is_ready() {
            self.recheck.stop();
            return Ok(());
        }
        while self.recheck.poll(RECHECK, &self.handle)?.is_ready() {
            if let Some(e) = SockRef::from(&self.io).take_error()? {
                return Err(e);
            }
        }
        Ok(())
    }

    /// Returns 0 on a Unix socket: the bytes written there are in the peer's buffer, and a reset
    /// doesn't destroy them.
    fn unacknowledged(&self) -> usize {
        if self.is_unix {
            return 0;
        }
        unacknowledged(&self.io).unwrap_or(0)
    }

    fn reset(&mut self) {
        // Fails on a Unix stream, which has no RST: its peer reads an end.
        let _ = self.io.set_linger(Some(Duration::from_secs(0)));
    }
}

debug_by_name!(Socket, Connecting);

/// A TCP connection that is being opened.
///
/// Resolves to the connected [`Socket`], or fails with the error of connect(2). Dropping it abandons
/// the attempt.
#[must_use = "futures do nothing unless polled"]
pub struct Connecting {
    stream: Box<dyn Future<Item = TcpStream, Error = io::Error> + Send>,
    address: SocketAddr,
    handle: Handle,
}

impl Future for Connecting {
    type Item = Socket;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Socket, io::Error> {
        match self.stream.poll() {
            Ok(polled) => Ok(polled.map(|tcp| Socket::of_tcp(tcp, &self.handle))),
            Err(e) => Err(connect_error(&self.address, e)),
        }
    }
}
