//! Listening sockets: accept4(2), and the permissions of a Unix socket's file.

use std::io;
use std::os::unix::io::{AsRawFd, FromRawFd};

use socket2::{SockAddr, Socket};

use super::descriptor::check;

/// Sets the permissions, before the umask, of the file that bind(2) creates for a Unix socket.
///
/// # Errors
///
/// The errors of fchmod(2).
pub fn set_mode(socket: &Socket, mode: libc::mode_t) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::fchmod(socket.as_raw_fd(), mode) }).map(drop)
}

/// Accepts one client: its socket doesn't block, and is closed on exec.
///
/// # Errors
///
/// All errors of accept4(2), including those of clients that have left.
pub fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: `init` passes storage and a length that fit each other, and the kernel fills in
    // both. The new descriptor is owned by the `Socket` before anything else can fail.
    unsafe {
        SockAddr::init(|storage, length| {
            let fd = libc::accept4(listener.as_raw_fd(), storage as *mut _, length, flags);
            check(fd).map(|fd| Socket::from_raw_fd(fd))
        })
    }
}
