//! CLOCK_MONOTONIC, for sd_notify(3).

use std::mem;
use std::time::Duration;

/// Returns CLOCK_MONOTONIC, which `Instant` doesn't expose.
pub(crate) fn monotonic() -> Duration {
    // SAFETY: all zeroes are a valid `timespec`, and the kernel fills in the one that it is passed. It
    // fails only for clocks that don't exist.
    unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_clock_goes_as_an_instant_does() {
        let (instant, begin) = (Instant::now(), monotonic());
        thread::sleep(Duration::from_millis(20));
        let passed = monotonic() - begin;
        assert!(passed >= Duration::from_millis(20) && passed <= instant.elapsed());
    }
}
