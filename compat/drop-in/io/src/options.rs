//! Socket options that std lacks.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// Sets `IPV6_V6ONLY`.
pub fn set_only_v6(socket: &impl AsFd, only_v6: bool) -> io::Result<()> {
    SockRef::from(socket).set_only_v6(only_v6)
}

/// Returns `IPV6_V6ONLY`.
pub fn only_v6(socket: &impl AsFd) -> io::Result<bool> {
    SockRef::from(socket).only_v6()
}

/// Turns keepalive probes on, after this much idle time in whole seconds, or off.
///
/// # Errors
///
/// `InvalidInput` for less than a second, or the system's error.
pub fn set_keepalive(socket: &TcpStream, idle: Option<Duration>) -> io::Result<()> {
    let socket = SockRef::from(socket);
    match idle {
        Some(idle) => socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle)),
        None => socket.set_keepalive(false),
    }
}

/// Returns the idle time before keepalive probes, or `None` when they are off.
pub fn keepalive(socket: &TcpStream) -> io::Result<Option<Duration>> {
    let socket = SockRef::from(socket);
    if !socket.keepalive()? {
        return Ok(None);
    }
    socket.tcp_keepalive_time().map(Some)
}
