//! Calls about this process: its limit on descriptors, its clock, the end of its stdout.

use std::io;
use std::mem;
use std::time::Duration;

use super::descriptor::check;

/// Returns the soft and the hard limit.
fn descriptor_limits() -> io::Result<libc::rlimit> {
    // SAFETY: all zeroes are a valid `rlimit`, and the kernel fills in the one that it is passed.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
        Ok(limit)
    }
}

/// Returns the number of descriptors that this process can have now.
///
/// # Errors
///
/// The errors of getrlimit(2): none in practice.
pub fn descriptor_limit() -> io::Result<u64> {
    descriptor_limits().map(|limit| limit.rlim_cur)
}

/// Raises the limit on descriptors to the hard limit, and returns it.
///
/// # Errors
///
/// The errors of setrlimit(2), such as `EPERM` in a sandbox.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = descriptor_limits()?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the struct that it is passed.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}

/// Returns CLOCK_MONOTONIC, which `Instant` doesn't expose, for sd_notify(3).
pub fn monotonic() -> Duration {
    // SAFETY: all zeroes are a valid `timespec`, and the kernel fills in the one that it is passed. It
    // fails only for clocks that don't exist.
    unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// Closes stdout, so that its reader sees the end; later writes are lost. The end of a socket that
/// another descriptor keeps open (`is_shared_socket`) is sent with shutdown(2).
pub fn close_stdout(is_shared_socket: bool) {
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

#[cfg(all(test, not(miri)))] // Miri has none of these calls
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_clock_advances_like_an_instant() {
        let (instant, begin) = (Instant::now(), monotonic());
        thread::sleep(Duration::from_millis(20));
        let passed = monotonic() - begin;
        assert!(passed >= Duration::from_millis(20) && passed <= instant.elapsed());
    }

    #[test]
    fn the_descriptor_limit_is_raised_to_the_hard_limit() {
        let now = raise_descriptor_limit().unwrap();
        assert_eq!(raise_descriptor_limit().unwrap(), now);
        assert_eq!(descriptor_limit().unwrap(), now);
    }
}
