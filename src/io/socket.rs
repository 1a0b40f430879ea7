//! Connected stream sockets, registered with the reactor.
//!
//! tokio-core's `TcpStream` hides its readiness and its descriptor, and its `shutdown` does
//! nothing. [`Socket`] treats a short read of TCP as the end of what has arrived, moves bytes by
//! splice(2), and sends FIN at `shutdown`.
//!
//! Invariant: a call that returns `WouldBlock` has arranged for the current task to be notified.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use futures::{Async, Future, Poll};
use socket2::{Domain, Protocol, SockAddr, Type};
use tokio_io::{AsyncRead, AsyncWrite};

use super::bound_socket::set_keepalive;
use super::reactor::{Readiness, Registration};
use super::transport::poll_io;
use super::{Handle, Transport};
use ptunnel_core::config::Keepalive;
use ptunnel_core::os::sys::Pipe;
use ptunnel_core::os::unacknowledged;

/// A connected TCP or Unix stream.
///
/// A read or write that would block returns `WouldBlock` and has the current task notified, as
/// tokio-io requires. Dropping the socket closes the connection.
#[derive(Debug)]
pub struct Socket {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    io: socket2::Socket,
    is_unix: bool,
}

impl Socket {
    /// Begins to connect to `address`, before the returned future is polled.
    ///
    /// # Errors
    ///
    /// The errors of socket(2), such as `EMFILE`, and of connect(2) if that fails at once, such as
    /// `ENETUNREACH`.
    pub fn connect(
        address: &SocketAddr,
        keepalive: Option<Keepalive>,
        handle: &Handle,
    ) -> io::Result<Connecting> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let io = socket2::Socket::new(Domain::for_address(*address), kind, Some(Protocol::TCP))?;
        io.set_nodelay(true)?;
        set_keepalive(&io, keepalive)?;
        match io.connect(&SockAddr::from(*address)) {
            Ok(()) => {}
            Err(ref e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(e) => return Err(e),
        }
        let registration = handle.register(&io, Readiness::NONE)?;
        Ok(Connecting {
            socket: Some(Socket {
                registration,
                io,
                is_unix: false,
            }),
        })
    }

    /// Registers a Unix stream that ptunnel has made, such as one end of a pair.
    ///
    /// # Errors
    ///
    /// The errors of fcntl(2) and epoll_ctl(2).
    pub fn from_unix(stream: UnixStream, handle: &Handle) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Socket::new(stream.into(), true, handle)
    }

    pub(super) fn new(io: socket2::Socket, is_unix: bool, handle: &Handle) -> io::Result<Socket> {
        let registration = handle.register(&io, Readiness::WRITE)?;
        Ok(Socket {
            registration,
            io,
            is_unix,
        })
    }

    /// Returns the peer's address and this side's; `None` for a Unix socket, and after a reset.
    pub(crate) fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let peer = self.io.peer_addr().ok()?.as_socket()?;
        Some((peer, self.io.local_addr().ok()?.as_socket()?))
    }

    /// Calls `call` if the socket is ready for `wanted`. If it isn't, or the call would block, the
    /// current task is notified later.
    fn attempt<T>(
        &self,
        wanted: Readiness,
        mut call: impl FnMut(&socket2::Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        if let Async::NotReady = self.registration.poll_ready(wanted) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match call(&self.io) {
                Err(ref e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    if e.kind() == io::ErrorKind::WouldBlock {
                        self.registration.would_block(wanted);
                    }
                    return Err(e);
                }
                answer => return answer,
            }
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.attempt(Readiness::READ, |mut io| io.read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(Readiness::WRITE, |mut io| io.write(bytes))
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
        !self.registration.poll_ready(Readiness::READ).is_ready()
    }

    /// Always `false` on a Unix socket: a read ends before a message with other credentials or with
    /// descriptors (SCM_RIGHTS), and no event announces what follows.
    fn is_drained(&mut self) -> bool {
        !self.is_unix && self.registration.is_drained()
    }

    fn check(&mut self) -> io::Result<()> {
        while self.registration.take_failed() {
            if let Some(e) = self.io.take_error()? {
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

    fn can_splice(&self) -> bool {
        true
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        // splice(2) never passes urgent data; recv(2) does.
        let stops = self.registration.has_more();
        poll_io(
            self.attempt(Readiness::READ, |io| match pipe.fill(io, most) {
                Err(ref e) if stops && e.kind() == io::ErrorKind::WouldBlock => {
                    Err(io::ErrorKind::InvalidInput.into())
                }
                answer => answer,
            }),
        )
    }

    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        poll_io(self.attempt(Readiness::WRITE, |io| pipe.drain(io, most)))
    }

    fn reset(&mut self) {
        // Fails on a Unix stream, which has no RST: its peer reads an end.
        let _ = self.io.set_linger(Some(Duration::from_secs(0)));
    }
}

/// A TCP connection that is being opened.
///
/// Resolves to the connected [`Socket`], or fails with the error of connect(2). Dropping it abandons
/// the attempt.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Connecting {
    socket: Option<Socket>,
}

impl Future for Connecting {
    type Item = Socket;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Socket, io::Error> {
        let socket = self
            .socket
            .take()
            .expect("Connecting polled after it ended");
        if let Async::NotReady = socket.registration.poll_ready(Readiness::WRITE) {
            self.socket = Some(socket);
            return Ok(Async::NotReady);
        }
        // Writable without an error or end reported means connected, and saves a system call.
        let error = if socket.registration.has_more() {
            socket.io.take_error()?
        } else {
            None
        };
        match error {
            Some(e) => Err(e),
            None => Ok(Async::Ready(socket)),
        }
    }
}
