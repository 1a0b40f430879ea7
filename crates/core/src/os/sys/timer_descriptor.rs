//! A timer that is a descriptor (timerfd_create(2)), so that epoll reports when it expires.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::descriptor::check;

/// A timer that expires after each period. Reading it doesn't block.
#[derive(Debug)]
pub struct TimerDescriptor(File);

impl TimerDescriptor {
    /// Starts a timer on the monotonic clock. With a period of 0, it never expires.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is no descriptor.
    pub fn every(period: Duration) -> io::Result<TimerDescriptor> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no pointers.
        let fd = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // SAFETY: the new descriptor has no other owner.
        let timer = TimerDescriptor(unsafe { File::from_raw_fd(fd) });
        timer.restart(period)?;
        Ok(timer)
    }

    /// Starts again, with a new period. With one of 0, it never expires.
    ///
    /// # Errors
    ///
    /// None that the kernel documents for a valid timer.
    pub fn restart(&self, period: Duration) -> io::Result<()> {
        self.set(period, period)
    }

    /// Expires now, and then after each `period`.
    ///
    /// # Errors
    ///
    /// As [`restart`](TimerDescriptor::restart).
    pub fn expire(&self, period: Duration) -> io::Result<()> {
        self.set(Duration::from_nanos(1), period)
    }

    fn set(&self, first: Duration, period: Duration) -> io::Result<()> {
        let time = |time: Duration| libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        };
        let times = libc::itimerspec {
            it_interval: time(period),
            it_value: time(first),
        };
        let (fd, none) = (self.as_raw_fd(), ptr::null_mut());
        // SAFETY: the kernel reads `times`, and writes nothing, since the last pointer is null.
        check(unsafe { libc::timerfd_settime(fd, 0, &times, none) }).map(drop)
    }

    /// Returns how often it has expired since the last call.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if it hasn't.
    pub fn expirations(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

impl AsRawFd for TimerDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::thread;

    use super::super::wait_readable;
    use super::*;

    #[test]
    fn each_period_expires_once() {
        let timer = TimerDescriptor::every(Duration::from_millis(20)).unwrap();
        let early = timer.expirations().map_err(|e| e.kind());
        assert_eq!(early, Err(io::ErrorKind::WouldBlock));
        wait_readable(&timer).unwrap();
        assert!(timer.expirations().unwrap() >= 1);
        thread::sleep(Duration::from_millis(60));
        assert!(timer.expirations().unwrap() >= 2);
    }
}
