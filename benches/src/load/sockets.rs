//! Sockets of the load: blocking ones with a time limit, and clients from several loopback addresses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{bind, connect, socket_with, AddressFamily, SocketFlags, SocketType};

/// How long a byte may take before the run counts as failed.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Source addresses 127.0.0.2 …: each has its own range of ephemeral ports.
const SOURCES: usize = 32;

/// A blocking client; `nth` chooses its source address.
pub fn client(to: SocketAddr, nth: usize) -> io::Result<TcpStream> {
    let socket = bound(nth, SocketFlags::CLOEXEC)?;
    connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// A client that is still connecting and never blocks.
pub fn connecting(to: SocketAddr, nth: usize) -> io::Result<OwnedFd> {
    let socket = bound(nth, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(e) => Err(e.into()),
    }
}

fn bound(nth: usize, flags: SocketFlags) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_tcp_nodelay(&socket, true)?;
    let source = Ipv4Addr::new(127, 0, 0, 2 + (nth % SOURCES) as u8);
    bind(&socket, &SocketAddrV4::new(source, 0))?;
    Ok(socket)
}
