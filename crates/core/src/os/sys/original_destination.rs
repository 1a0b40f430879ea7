//! The destination that a connection had before netfilter redirected it: getsockopt(2) with
//! SO_ORIGINAL_DST.

use std::io;
use std::net::SocketAddr;
use std::os::unix::io::AsRawFd;

use libc::c_int;
use socket2::SockAddr;

use super::descriptor::check;

/// Returns the destination that the client of this accepted TCP connection connected to. `is_ipv4`
/// is the version of the connection, not of the socket: one of IPv6 accepts both.
///
/// # Errors
///
/// `NotFound` (ENOENT) or ENOPROTOOPT if the kernel tracks no such connection; all other errors of
/// getsockopt(2).
pub(crate) fn original_destination(
    socket: &impl AsRawFd,
    is_ipv4: bool,
) -> io::Result<Option<SocketAddr>> {
    let (level, name): (c_int, c_int) = if is_ipv4 {
        (libc::SOL_IP, libc::SO_ORIGINAL_DST)
    } else {
        (libc::SOL_IPV6, libc::IP6T_SO_ORIGINAL_DST)
    };
    // SAFETY: `init` passes storage that is large enough for any address, and a length that fits it.
    // The kernel writes an address of at most that length, and its length; both live through the
    // call.
    let (_, address) = unsafe {
        SockAddr::init(|storage, length| {
            let value = storage as *mut libc::c_void;
            check(libc::getsockopt(
                socket.as_raw_fd(),
                level,
                name,
                value,
                length,
            ))
        })
    }?;
    Ok(address.as_socket())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Without a rule, the kernel has no destination but the listener.
    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn a_connection_that_nothing_redirected_has_no_other_destination() {
        for loopback in &["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(loopback).unwrap();
            let address = listener.local_addr().unwrap();
            let _client = TcpStream::connect(address).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let found = original_destination(&accepted, address.is_ipv4());
            assert!(found.map_or(true, |found| found == Some(address)));
        }
    }
}
