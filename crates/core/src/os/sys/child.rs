//! Children of this process: their session and descriptors, reads that don't wait for them, and
//! their end.

use std::io;
use std::os::raw::{c_int, c_uint};
use std::os::unix::io::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::descriptor::check;

/// The first descriptor after stderr.
const FIRST: c_uint = 3;

/// More than the number of any socket from socket activation.
const MOST: c_uint = 16_384;

/// Starts the command in a separate session, which has no terminal and can be killed as a whole,
/// and without descriptors but stdin, stdout and stderr.
pub(crate) fn isolate(command: &mut Command) {
    let isolate = || {
        // SAFETY: no pointers.
        check(unsafe { libc::setsid() })?;
        close_on_exec();
        Ok(())
    };
    // SAFETY: between fork(2) and exec(2) the closure only makes system calls. It neither allocates
    // nor takes a lock.
    unsafe { command.pre_exec(isolate) };
}

fn close_on_exec() {
    #[cfg(target_os = "linux")]
    {
        // CLOSE_RANGE_CLOEXEC of linux/close_range.h, since Linux 5.11.
        const CLOEXEC: c_uint = 1 << 2;
        // SAFETY: no pointers. Descriptors that aren't open are skipped.
        let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, c_uint::MAX, CLOEXEC) };
        if result == 0 {
            return;
        }
    }
    for number in FIRST..MOST {
        // SAFETY: no pointers; a descriptor that isn't open is an error.
        unsafe { libc::fcntl(number as c_int, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Kills a child that [`isolate`] prepared, with its session, and waits for the child.
pub(crate) fn kill_session(child: &mut Child) {
    // SAFETY: no pointers. Before `wait`, the number is that of the child and of its group alone.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    let _ = child.wait();
}

/// Makes reads return `WouldBlock` instead of waiting.
///
/// # Errors
///
/// The errors of fcntl(2): none for a descriptor that is open.
pub(crate) fn set_nonblocking(pipe: &impl AsRawFd) -> io::Result<()> {
    let fd = pipe.as_raw_fd();
    // SAFETY: no pointers.
    let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

#[cfg(all(test, not(miri)))] // which starts no process
mod tests {
    use std::fs::File;
    use std::process::Stdio;

    use super::*;

    /// Regression guard: a socket from socket activation must not reach the program.
    #[test]
    fn a_child_inherits_three_descriptors() {
        let file = File::open("/dev/null").unwrap();
        // SAFETY: no pointers.
        let inherited =
            check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 900) }).unwrap();
        let list = |is_isolated: bool| {
            let mut command = Command::new("ls");
            command.arg("/proc/self/fd").stdin(Stdio::null());
            if is_isolated {
                isolate(&mut command);
            }
            let output = command.output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let numbers = text.lines().map(|line| line.parse().unwrap());
            numbers.collect::<Vec<c_int>>()
        };
        assert!(list(false).contains(&inherited));
        // The last one is that of the folder.
        assert_eq!(list(true), [0, 1, 2, 3]);
        // SAFETY: no pointers; this test has opened it.
        unsafe { libc::close(inherited) };
    }
}
