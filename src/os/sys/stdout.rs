//! The end of standard output.

/// Makes the reader of our stdout see its end; what is written there afterwards is lost. The end of
/// a socket that others keep open has to be sent.
pub(crate) fn close_stdout(is_shared_socket: bool) {
    if is_shared_socket {
        // SAFETY: no pointers; what isn't connected any more is an error, and has its end.
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
