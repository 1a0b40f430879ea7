//! Listening sockets before they are registered with a reactor: they can be bound before any thread
//! starts.

use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, SockAddr, TcpKeepalive, Type};

use ptunnel_core::config::Keepalive;
use ptunnel_core::listener::bind::Listen;
use ptunnel_core::listener::socket_activation::{self, InheritedSocket};
use ptunnel_core::os::sys;
use ptunnel_proto::text::escape::Escaped;

/// A listening TCP or Unix socket that is bound, and not registered yet. It can be sent to another
/// thread.
#[derive(Debug)]
pub struct BoundSocket {
    pub(super) io: socket2::Socket,
    /// `Some` for a Unix socket; empty if it is inherited and has no path.
    pub(super) path: Option<PathBuf>,
}

/// Maximum number of clients that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// Makes the kernel probe a peer that has been silent for the time of `keepalive`.
pub(super) fn set_keepalive(io: &socket2::Socket, keepalive: Option<Keepalive>) -> io::Result<()> {
    let keepalive = match keepalive {
        Some(keepalive) => keepalive,
        None => return Ok(()),
    };
    let options = TcpKeepalive::new().with_time(keepalive.time);
    io.set_tcp_keepalive(&options.with_interval(keepalive.interval()))
}

impl BoundSocket {
    /// Binds a TCP socket and listens. With `shared`, other sockets of this user can listen on the
    /// same port and share its clients (SO_REUSEPORT): one for each thread.
    ///
    /// The unspecified IPv6 address accepts IPv4 clients too.
    ///
    /// # Errors
    ///
    /// The errors of bind(2) and listen(2), such as `AddrInUse`, `PermissionDenied`,
    /// `AddrNotAvailable`.
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
