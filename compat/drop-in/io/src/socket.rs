//! Opening of sockets, in non-blocking mode.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use socket2::{Domain, Protocol, Socket, Type};

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
    socket.set_nonblocking(true)?;
    match socket.connect(&(*addr).into()) {
        Ok(()) => {}
        Err(error) if is_in_progress(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}

fn is_in_progress(error: &io::Error) -> bool {
    // std has no stable `ErrorKind` for it.
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EINPROGRESS)
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
