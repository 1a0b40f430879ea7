//! splice(2) where the kernel refuses it.

use std::io;

/// Whether it is splice(2) that doesn't work, and not the socket: the same bytes can be copied.
///
/// A filter of system calls, a security module or a kernel without it refuses the call; it may find
/// no memory for its pages.
pub fn is_splice_failure(error: &io::Error) -> bool {
    const REFUSED: &[i32] = &[
        libc::EINVAL,
        libc::ENOMEM,
        libc::ENOSYS,
        libc::EPERM,
        libc::EACCES,
        libc::EOPNOTSUPP,
    ];
    error.raw_os_error().map_or(false, |e| REFUSED.contains(&e))
}
