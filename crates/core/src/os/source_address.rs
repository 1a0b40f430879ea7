//! The local address of connections to another machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::exhaustion::Exhaustion;

/// Returns the local address of connections to `to`; `None` without a route or an address of that
/// IP version. Connecting a UDP socket chooses the address, and sends nothing.
///
/// # Errors
///
/// The errors of socket(2) and bind(2), and of connect(2) if this machine lacks a descriptor or
/// memory.
pub(crate) fn source_address(to: SocketAddr) -> io::Result<Option<IpAddr>> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = match UdpSocket::bind((any, 0)) {
        Err(ref e) if e.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Ok(None),
        socket => socket?,
    };
    match socket.connect(to) {
        Ok(()) => socket.local_addr().map(|local| Some(local.ip())),
        Err(e) => match Exhaustion::of(&e) {
            // For a UDP socket this error means that there is no address, not that there is no
            // port.
            Some(Exhaustion::Ports) | None => Ok(None),
            Some(_) => Err(e),
        },
    }
}
