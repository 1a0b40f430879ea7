//! Descriptors that no type of std owns, and the results of calls that return one.

use std::io;
use std::os::unix::io::RawFd;

use libc::c_int;

/// An owned descriptor; closed on drop.
#[derive(Debug)]
pub(super) struct Descriptor(pub(super) RawFd);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: this value alone has the descriptor, from the call that made it to this one.
        unsafe { libc::close(self.0) };
    }
}

/// A descriptor that is kept only to be closed when another one is needed.
#[derive(Debug)]
pub(crate) struct ReservedFd {
    pub(super) _reserved: Descriptor,
}

/// Converts the result of a system call.
///
/// # Errors
///
/// errno, for a negative result.
pub(super) fn check(result: c_int) -> io::Result<c_int> {
    check_size(result as libc::ssize_t).map(|_| result)
}

/// The same for a call that returns a number of bytes.
pub(super) fn check_size(result: libc::ssize_t) -> io::Result<usize> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result as usize)
    }
}
