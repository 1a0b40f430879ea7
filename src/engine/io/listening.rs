//! Listening sockets: bound before there are threads, then registered with one thread's reactor.
//!
//! ```text
//!   BoundSocket (any thread) ──register──▶ Acceptor (its reactor's thread) ──▶ Sockets
//! ```

use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use futures::{Async, Poll};
use socket2::{Domain, Protocol, SockAddr, Type};

use super::reactor::{Readiness, Registration};
use super::socket::set_keepalive;
use super::{Handle, Socket};
use crate::config::Keepalive;
use crate::listener::bind::Listen;
use crate::listener::socket_activation::{self, InheritedSocket};
use crate::os::sys;
use crate::text::escape::Escaped;

/// A listening TCP or Unix socket that is bound, and not yet registered: it can go to any thread.
#[derive(Debug)]
pub struct BoundSocket {
    io: socket2::Socket,
    /// `Some` for a Unix socket; empty if it is inherited and has no path.
    path: Option<PathBuf>,
}

/// Clients that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

impl BoundSocket {
    /// Binds a TCP socket and listens. With `shared`, other sockets of this user can listen on the
    /// same port and share its clients (SO_REUSEPORT): one for each thread.
    ///
    /// The unspecified IPv6 address accepts IPv4 clients too.
    ///
    /// # Errors
    ///
    /// Those of bind(2) and listen(2), such as `AddrInUse`, `PermissionDenied`, `AddrNotAvailable`.
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
        // Accepted sockets inherit both options.
        io.set_nodelay(true)?;
        set_keepalive(&io, keepalive)?;
        io.bind(&SockAddr::from(*address))?;
        io.listen(BACKLOG)?;
        Ok(BoundSocket { io, path: None })
    }

    /// Returns the address that the socket is bound to, with the port that the kernel chose.
    ///
    /// # Errors
    ///
    /// `AddrNotAvailable` for a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.io.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Returns the address or path for log lines.
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
        let kind = Type::STREAM.nonblocking().cloexec();
        let io = socket2::Socket::new(Domain::UNIX, kind, None)?;
        // Set before the file exists, so that no other user can connect meanwhile.
        sys::set_mode(&io, 0o600)?;
        io.bind(&SockAddr::unix(path)?)?;
        Ok(BoundSocket {
            io,
            path: Some(path.to_path_buf()),
        })
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

/// A listening socket that is registered with a reactor.
#[derive(Debug)]
pub(crate) struct Acceptor {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    listening: BoundSocket,
    handle: Handle,
}

impl Acceptor {
    /// Accepts the next client; its address is `None` on a Unix socket.
    ///
    /// # Errors
    ///
    /// All of accept(2), among them those of clients that are gone.
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

    /// Returns the address or path for log lines.
    pub(crate) fn name(&self) -> String {
        self.listening.name()
    }
}
