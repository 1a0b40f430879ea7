//! Errors of splice(2).

use std::io;

/// Returns whether splice(2) failed, rather than the socket: the same bytes can be copied instead.
///
/// A seccomp filter, a security module or a kernel without splice(2) refuses the call, or the
/// kernel lacks memory for its pages.
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
