//! The listener of the servers on tokio 1.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// A listener beside those of other threads on the same port (`SO_REUSEPORT`).
///
/// # Errors
/// Those of the system.
pub fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}
