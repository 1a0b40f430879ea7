//! The limit on descriptors.

use std::io;
use std::mem;

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
pub(crate) fn descriptor_limit() -> io::Result<u64> {
    descriptor_limits().map(|limit| limit.rlim_cur)
}

/// Raises the limit on descriptors to the hard limit, and returns it.
pub(crate) fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = descriptor_limits()?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the struct that it is passed.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_on_descriptors_is_at_its_hard_limit_afterwards() {
        let now = raise_descriptor_limit().unwrap();
        assert_eq!(raise_descriptor_limit().unwrap(), now);
        assert_eq!(descriptor_limit().unwrap(), now);
    }
}
