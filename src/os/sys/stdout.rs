//! The end of standard output.

/// Closes stdout, so that its reader sees the end; later writes are lost. The end of a socket that
/// another descriptor keeps open (`is_shared_socket`) is sent with shutdown(2).
pub(crate) fn close_stdout(is_shared_socket: bool) {
    if is_shared_socket {
        // SAFETY: no pointers. It fails only for a socket that is no longer connected.
        unsafe { libc::shutdown(libc::STDOUT_FILENO, libc::SHUT_WR) };
    }
    // SAFETY: descriptor 1 stays valid throughout: dup2 replaces it in one step, so that no
    // descriptor opened meanwhile can become stdout.
    unsafe {
        let null = libc::open(
            b"/dev/null\0".as_ptr() as *const _,
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if null >= 0 {
            libc::dup2(null, libc::STDOUT_FILENO);
            libc::close(null);
        }
    }
}
