//! The user that this process runs as.

/// Returns the effective user id of this process (geteuid(2)).
pub fn effective_user() -> u32 {
    // SAFETY: no arguments, and it can't fail.
    unsafe { libc::geteuid() }
}
