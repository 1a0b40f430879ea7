//! Stream sockets on our reactor.
//!
//! tokio-core's `TcpStream` keeps its readiness and its descriptor to itself, and its
//! `shutdown` does nothing. [`Socket`] trusts a short read of TCP, moves bytes by splice, and sends
//! FIN when it is told to shut down.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::{Async, Future, Poll};
use socket2::{Domain, Protocol, SockAddr, TcpKeepalive, Type};
use tokio_io::{AsyncRead, AsyncWrite};

use super::reactor::{Readiness, Registration};
use super::transport::poll_io;
use super::{Handle, Transport};
use crate::config::Keepalive;
use crate::listener::bind::Listen;
use crate::listener::socket_activation::{self, InheritedSocket};
use crate::os::sys::{self, Pipe};
use crate::os::unacknowledged;
use crate::text::escape::Escaped;

/// Has the kernel ask a quiet peer whether it is still there.
fn set_keepalive(io: &socket2::Socket, keepalive: Option<Keepalive>) -> io::Result<()> {
    let keepalive = match keepalive {
        Some(keepalive) => keepalive,
        None => return Ok(()),
    };
    let options = TcpKeepalive::new().with_time(keepalive.time);
    io.set_tcp_keepalive(&options.with_interval(keepalive.interval()))
}

/// A connected TCP or Unix stream.
///
/// Reads and writes answer `WouldBlock` and notify the current task, as tokio-io wants it.
/// Dropping it closes the connection.
#[derive(Debug)]
pub struct Socket {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    io: socket2::Socket,
    is_unix: bool,
}

impl Socket {
    /// Connects to `address`; nothing is sent before the returned future is polled, but the
    /// connection is begun at once.
    ///
    /// # Errors
    ///
    /// When there is no descriptor, or the kernel knows right away that there is no way.
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

    /// A stream of this process's own, such as one end of a pair.
    ///
    /// # Errors
    ///
    /// When it can't be made non-blocking or registered.
    pub fn from_unix(stream: UnixStream, handle: &Handle) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Socket::new(stream.into(), true, handle)
    }

    fn new(io: socket2::Socket, is_unix: bool, handle: &Handle) -> io::Result<Socket> {
        let registration = handle.register(&io, Readiness::WRITE)?;
        Ok(Socket {
            registration,
            io,
            is_unix,
        })
    }

    /// Runs `call` while the socket is ready for `wanted`, and parks when it isn't.
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
    /// Sends FIN: the peer reads an end, and may go on sending.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        match self.io.shutdown(Shutdown::Write) {
            // The peer has reset it already; who reads from it is told.
            Err(ref e) if e.kind() == io::ErrorKind::NotConnected => Ok(Async::Ready(())),
            answer => answer.map(Async::Ready),
        }
    }
}

impl Transport for Socket {
    fn is_blocked(&mut self) -> bool {
        !self.registration.poll_ready(Readiness::READ).is_ready()
    }

    /// A Unix socket can't tell: a read ends before a message with other credentials or with
    /// descriptors (SCM_RIGHTS), and no event announces what is behind.
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

    /// What was written to a Unix socket lies with its reader, and stays there.
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
        // splice(2) stops for ever before urgent data, recv(2) goes on behind it.
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
        // Fails on a Unix stream, which knows no RST: there the end has to do.
        let _ = self.io.set_linger(Some(Duration::from_secs(0)));
    }
}

/// A connection under way; resolves to the [`Socket`], or to the reason why there is none.
///
/// Dropping it abandons the attempt.
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
        // Writable and nothing else: connected. Only then is the system call saved.
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

/// A listening TCP or Unix socket, bound but not yet on any reactor, so that it may go to a thread.
#[derive(Debug)]
pub struct BoundSocket {
    io: socket2::Socket,
    /// Of a Unix socket.
    path: Option<PathBuf>,
}

/// Clients that the kernel holds for us until they are accepted.
const BACKLOG: i32 = 1024;

impl BoundSocket {
    /// Binds and listens. `shared` lets other sockets of this user listen on the same port and
    /// share its clients (SO_REUSEPORT): one for each thread.
    ///
    /// An unspecified IPv6 address takes IPv4 clients too.
    ///
    /// # Errors
    ///
    /// Those of the system: in use, not permitted, no such address here.
    pub fn bind(
        address: &SocketAddr,
        shared: bool,
        keepalive: Option<Keepalive>,
    ) -> io::Result<BoundSocket> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let io = socket2::Socket::new(Domain::for_address(*address), kind, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            io.set_only_v6(!address.ip().is_unspecified())?;
        }
        io.set_reuse_address(true)?;
        io.set_reuse_port(shared)?;
        // Accepted sockets inherit both.
        io.set_nodelay(true)?;
        set_keepalive(&io, keepalive)?;
        io.bind(&SockAddr::from(*address))?;
        io.listen(BACKLOG)?;
        Ok(BoundSocket { io, path: None })
    }

    /// Binds a Unix socket to which its owner alone may connect.
    ///
    /// # Errors
    ///
    /// Those of the system: in use, not permitted, no such folder.
    pub fn bind_path(path: &Path) -> io::Result<BoundSocket> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let io = socket2::Socket::new(Domain::UNIX, kind, None)?;
        // Before there is a file: nobody gets in meanwhile.
        sys::set_mode(&io, 0o600)?;
        io.bind(&SockAddr::unix(path)?)?;
        Ok(BoundSocket {
            io,
            path: Some(path.to_path_buf()),
        })
    }

    /// The address it is bound to, with the port that was picked.
    ///
    /// # Errors
    ///
    /// When it is a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.io.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Where it listens, as logs call it.
    pub(crate) fn name(&self) -> String {
        match (&self.path, self.local_addr()) {
            (Some(path), _) => Escaped(path.as_os_str().as_bytes()).to_string(),
            (None, Ok(address)) => address.to_string(),
            (None, Err(e)) => e.to_string(),
        }
    }

    pub(crate) fn register(self, handle: &Handle) -> io::Result<Acceptor> {
        let registration = handle.register(&self.io, Readiness::READ)?;
        Ok(Acceptor {
            registration,
            listening: self,
            handle: handle.clone(),
        })
    }
}

impl Listen for BoundSocket {
    fn bind(
        address: &SocketAddr,
        shared: bool,
        keepalive: Option<Keepalive>,
    ) -> io::Result<BoundSocket> {
        BoundSocket::bind(address, shared, keepalive)
    }

    fn bind_path(path: &Path) -> io::Result<BoundSocket> {
        BoundSocket::bind_path(path)
    }

    fn listen(&self) -> io::Result<()> {
        self.io.listen(BACKLOG)
    }

    fn adopt(socket: InheritedSocket, keepalive: Option<Keepalive>) -> io::Result<BoundSocket> {
        let (socket, path) = match socket {
            InheritedSocket::Tcp(tcp) => (socket2::Socket::from(tcp), None),
            InheritedSocket::Unix(unix) => {
                let path = unix.local_addr()?.as_pathname().map(Path::to_path_buf);
                (unix.into(), Some(path.unwrap_or_default()))
            }
        };
        if !socket.is_listener()? {
            return Err(socket_activation::not_listening());
        }
        if path.is_none() {
            socket.set_nodelay(true)?;
            set_keepalive(&socket, keepalive)?;
        }
        socket.set_nonblocking(true)?;
        Ok(BoundSocket { io: socket, path })
    }

    fn try_clone(&self) -> io::Result<BoundSocket> {
        Ok(BoundSocket {
            io: self.io.try_clone()?,
            path: self.path.clone(),
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
}

/// A listening socket on a reactor.
#[derive(Debug)]
pub(crate) struct Acceptor {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    listening: BoundSocket,
    handle: Handle,
}

impl Acceptor {
    /// The next client, as the kernel hands it over: every error is passed on. One of a Unix socket
    /// has no address.
    pub(crate) fn poll_accept(&mut self) -> Poll<(Socket, Option<SocketAddr>), io::Error> {
        if let Async::NotReady = self.registration.poll_ready(Readiness::READ) {
            return Ok(Async::NotReady);
        }
        match sys::accept(&self.listening.io) {
            Ok((io, address)) => {
                let is_unix = self.listening.path.is_some();
                let socket = Socket::new(io, is_unix, &self.handle)?;
                Ok(Async::Ready((socket, address.as_socket())))
            }
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.registration.would_block(Readiness::READ);
                Ok(Async::NotReady)
            }
            Err(e) => Err(e),
        }
    }

    /// Where it listens, as logs call it.
    pub(crate) fn name(&self) -> String {
        self.listening.name()
    }
}
