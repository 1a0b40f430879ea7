//! A socket that is passed over standard output (SCM_RIGHTS, unix(7)), and a child process that can
//! outlive the process which started it.

use std::io::{self, Read};
use std::mem;
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process;
use std::ptr;

use libc::{c_int, c_uint, c_ulong, c_void};

use super::descriptor::check;
use super::process::close_stdout;

/// Returns whether standard output is a Unix socket.
pub(crate) fn is_stdout_unix() -> bool {
    // SAFETY: all zeroes are a valid address. The kernel fills in at most `size` bytes of the one that
    // it is passed; both live through the call.
    unsafe {
        let mut address: libc::sockaddr_storage = mem::zeroed();
        let mut size = mem::size_of_val(&address) as libc::socklen_t;
        let named: *mut libc::sockaddr_storage = &mut address;
        let answer = libc::getsockname(libc::STDOUT_FILENO, named as *mut _, &mut size);
        answer == 0 && c_int::from(address.ss_family) == libc::AF_UNIX
    }
}

/// Passes a socket, in blocking mode, to the reader of standard output. The caller keeps its own
/// descriptor, of the same socket.
///
/// # Errors
///
/// The errors of fcntl(2) and sendmsg(2): `BrokenPipe` if the reader has gone.
pub(crate) fn pass_over_stdout(socket: &impl AsRawFd) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    // The mode belongs to the socket, not to the descriptor.
    // SAFETY: no pointers; a bad descriptor is an error.
    unsafe {
        let flags = check(libc::fcntl(fd, libc::F_GETFL))?;
        check(libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_NONBLOCK))?;
    }
    // A descriptor travels with at least one byte.
    let mut byte = [0_u8];
    let mut bytes = libc::iovec {
        iov_base: byte.as_mut_ptr() as *mut c_void,
        iov_len: byte.len(),
    };
    let size = mem::size_of::<RawFd>() as c_uint;
    // Aligned for a header, and larger than one with a descriptor.
    let mut control = [0_u64; 8];
    // SAFETY: all zeroes are a valid message. `bytes` and `control` live through the call. The first
    // header is at the start of `control`, which has room for it and the descriptor behind it.
    check(unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut bytes;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr() as *mut c_void;
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header) as *mut RawFd, fd);
        libc::sendmsg(libc::STDOUT_FILENO, &message, libc::MSG_NOSIGNAL)
    })
    .map(drop)
}

/// Continues in a child process. This process only waits: it exits with the child's exit code, or
/// with 0 once the child calls [`outlive_parent`]. Until then, the child ends with this process.
///
/// The caller must have one thread only, since a child has no other than the one that forks. The
/// child's standard input leads to its parent.
///
/// # Errors
///
/// The errors of socketpair(2) and fork(2). In the child, those of prctl(2) and dup2(2).
pub(crate) fn continue_in_child() -> io::Result<()> {
    let (mut parent, child) = UnixStream::pair()?;
    // SAFETY: no pointers. The process has one thread, so that no lock is held for ever.
    match check(unsafe { libc::fork() })? {
        // SAFETY: no pointers; dup2 replaces stdin in one step.
        0 => unsafe {
            check(libc::prctl(
                libc::PR_SET_PDEATHSIG,
                libc::SIGTERM as c_ulong,
            ))?;
            check(libc::dup2(child.as_raw_fd(), libc::STDIN_FILENO)).map(drop)
        },
        id => {
            drop(child);
            let is_outlived = parent.read_exact(&mut [0]).is_ok();
            process::exit(if is_outlived { 0 } else { exit_code(id) })
        }
    }
}

/// Returns the exit code of a child process once it has ended, as a shell does.
fn exit_code(id: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waitpid(2) writes one int through the pointer, which points to one that lives through
    // the call.
    if unsafe { libc::waitpid(id, &mut status, 0) } < 0 {
        return 1;
    }
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        128 + libc::WTERMSIG(status)
    }
}

/// Has the parent of a process that [`continue_in_child`] made exit, while this one goes on in a
/// separate session, without the signals of the terminal. Closes stdout.
///
/// # Errors
///
/// The errors of prctl(2), setsid(2) and write(2): none in practice.
pub(crate) fn outlive_parent() -> io::Result<()> {
    // SAFETY: one byte, which lives through the call; no other pointers.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, 0 as c_ulong))?;
        check(libc::setsid())?;
        check(libc::write(
            libc::STDIN_FILENO,
            [0_u8].as_ptr() as *const c_void,
            1,
        ))?;
    }
    close_stdout(false);
    Ok(())
}
