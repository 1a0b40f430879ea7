//! Sockets with their options. TCP: no delay, no inheritance, keepalive, a shared port for threads.
//! Unix: for their owner alone.

use std::fs::{File, Permissions};
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::Path;
use std::task::{ready, Context, Poll};

use ptunnel::config::Keepalive;
use ptunnel::listener::bind::Listen;
use ptunnel::listener::socket_activation::{self, InheritedSocket};
use ptunnel::observe::access_log::Origin;
use ptunnel::Escaped;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use super::{Restarting, Transport, UnixSocket};

/// Number of clients that the kernel holds until they are accepted.
const BACKLOG: i32 = 1024;

/// Switches TCP keepalive on, or leaves it off.
fn set_keepalive(socket: SockRef<'_>, keepalive: Option<Keepalive>) -> io::Result<()> {
    let Some(keepalive) = keepalive else {
        return Ok(());
    };
    let options = TcpKeepalive::new().with_time(keepalive.time);
    socket.set_tcp_keepalive(&options.with_interval(keepalive.interval()))
}

/// A TCP connection.
pub type Tcp = Restarting<TcpStream>;

/// A listening socket, bound but not yet on a reactor, so that it can be moved to a thread.
#[derive(Debug)]
pub enum BoundSocket {
    /// A TCP socket.
    Tcp(StdTcpListener),
    /// A Unix socket.
    Unix(StdUnixListener),
}

impl BoundSocket {
    /// Returns the address on which it listens, for logs.
    pub(crate) fn name(&self) -> String {
        match self {
            BoundSocket::Tcp(listener) => name_of_port(listener.local_addr()),
            BoundSocket::Unix(listener) => {
                let address = listener.local_addr().ok();
                name_of_path(address.as_ref().and_then(|address| address.as_pathname()))
            }
        }
    }
}

impl Listen for BoundSocket {
    /// An unspecified IPv6 address takes IPv4 clients too.
    fn bind(
        address: &SocketAddr,
        shared: bool,
        keepalive: Option<Keepalive>,
    ) -> io::Result<BoundSocket> {
        let socket = Socket::new(
            Domain::for_address(*address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(shared)?;
        socket.set_nonblocking(true)?;
        // Accepted sockets inherit it.
        set_keepalive(SockRef::from(&socket), keepalive)?;
        socket.bind(&(*address).into())?;
        socket.listen(BACKLOG)?;
        Ok(BoundSocket::Tcp(socket.into()))
    }

    fn bind_path(path: &Path) -> io::Result<BoundSocket> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        // Before there is a file, so that no client connects with other permissions.
        let socket = File::from(OwnedFd::from(socket));
        socket.set_permissions(Permissions::from_mode(0o600))?;
        let socket = Socket::from(OwnedFd::from(socket));
        socket.bind(&SockAddr::unix(path)?)?;
        Ok(BoundSocket::Unix(socket.into()))
    }

    fn listen(&self) -> io::Result<()> {
        match self {
            BoundSocket::Tcp(listener) => SockRef::from(listener).listen(BACKLOG),
            BoundSocket::Unix(listener) => SockRef::from(listener).listen(BACKLOG),
        }
    }

    fn adopt(socket: InheritedSocket, keepalive: Option<Keepalive>) -> io::Result<BoundSocket> {
        let is_listening = match &socket {
            InheritedSocket::Tcp(tcp) => SockRef::from(tcp).is_listener()?,
            InheritedSocket::Unix(unix) => SockRef::from(unix).is_listener()?,
        };
        if !is_listening {
            return Err(socket_activation::not_listening());
        }
        match socket {
            InheritedSocket::Tcp(tcp) => {
                tcp.set_nonblocking(true)?;
                set_keepalive(SockRef::from(&tcp), keepalive)?;
                Ok(BoundSocket::Tcp(tcp))
            }
            InheritedSocket::Unix(unix) => {
                unix.set_nonblocking(true)?;
                Ok(BoundSocket::Unix(unix))
            }
        }
    }

    fn try_clone(&self) -> io::Result<BoundSocket> {
        match self {
            BoundSocket::Tcp(listener) => listener.try_clone().map(BoundSocket::Tcp),
            BoundSocket::Unix(listener) => listener.try_clone().map(BoundSocket::Unix),
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            BoundSocket::Tcp(listener) => listener.local_addr(),
            BoundSocket::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// A listening socket on a reactor, of either kind.
pub trait Accept: AsFd {
    /// A client's connection.
    type Stream: Transport + 'static;

    /// Accepts the next client; returns its connection and its address.
    ///
    /// # Errors
    ///
    /// Those of accept(2).
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Origin)>>;

    /// Returns the address on which it listens, for logs.
    fn name(&self) -> String;
}

impl Accept for TcpListener {
    type Stream = Tcp;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Tcp, Origin)>> {
        let (socket, address) = ready!(self.poll_accept(cx))?;
        socket.set_nodelay(true)?;
        Poll::Ready(Ok((Restarting::new(socket), Origin::Address(address))))
    }

    fn name(&self) -> String {
        name_of_port(self.local_addr())
    }
}

impl Accept for UnixListener {
    type Stream = Restarting<UnixSocket>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Origin)>> {
        let (socket, _) = ready!(self.poll_accept(cx))?;
        Poll::Ready(Ok((Restarting::new(socket.into()), Origin::Unix)))
    }

    fn name(&self) -> String {
        let address = self.local_addr().ok();
        name_of_path(address.as_ref().and_then(|address| address.as_pathname()))
    }
}

fn name_of_port(address: io::Result<SocketAddr>) -> String {
    address.map_or_else(|e| e.to_string(), |address| address.to_string())
}

/// Without a path it has no name.
fn name_of_path(path: Option<&Path>) -> String {
    let path = path.map_or(&b""[..], |path| path.as_os_str().as_bytes());
    Escaped(path).to_string()
}

/// Connects to one address; dropping the future abandons the attempt.
///
/// Nothing happens before the first poll: poll it at once to begin the connection.
///
/// # Errors
///
/// Those of connect(2).
pub async fn connect(address: SocketAddr, keepalive: Option<Keepalive>) -> io::Result<Tcp> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    set_keepalive(SockRef::from(&stream), keepalive)?;
    Ok(Restarting::new(stream))
}
