//! The address from which this machine reaches another one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::exhaustion::Exhaustion;

/// Returns the address that connections to `to` have here; `None` without a route or an address of
/// that IP version. Connecting a UDP socket chooses the address, and sends nothing.
///
/// # Errors
///
/// Those of socket(2) and bind(2), and of connect(2) if this machine lacks a descriptor or memory.
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
            // Of a UDP socket: there is no address, and not no port.
            Some(Exhaustion::Ports) | None => Ok(None),
            Some(_) => Err(e),
        },
    }
}
