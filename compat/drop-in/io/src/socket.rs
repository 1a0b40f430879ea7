//! Opening of sockets, in non-blocking mode.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Starts to connect a new TCP socket.
///
/// # Errors
///
/// With the system's error; that the connect goes on is none.
pub fn connect(addr: &SocketAddr) -> io::Result<TcpStream> {
    connect_with(tcp(addr)?, addr)
}

/// Starts to connect `socket`.
///
/// # Errors
///
/// As [`connect`].
pub fn connect_with(socket: Socket, addr: &SocketAddr) -> io::Result<TcpStream> {
    Ok(begin(socket, &(*addr).into())?.into())
}

/// Connects a new Unix socket to that at `path`.
///
/// # Errors
///
/// As [`connect`]; `WouldBlock` when the listener has no room for another connection.
pub fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    Ok(begin(socket, &SockAddr::unix(path)?)?.into())
}

fn begin(socket: Socket, addr: &SockAddr) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    match socket.connect(addr) {
        Ok(()) => Ok(socket),
        // std has no stable `ErrorKind` for it.
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Binds a TCP socket to `addr`, with `SO_REUSEADDR`, and lets `backlog` connections wait.
///
/// # Errors
///
/// With the system's error, e.g. `AddrInUse`.
pub fn listen(addr: &SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = tcp(addr)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&(*addr).into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

fn tcp(addr: &SocketAddr) -> io::Result<Socket> {
    Socket::new(
        Domain::for_address(*addr),
        Type::STREAM,
        Some(Protocol::TCP),
    )
}
