//! Whose process this is.

/// The user whose permissions count for it (geteuid(2)).
pub fn effective_user() -> u32 {
    // SAFETY: takes nothing and can't fail.
    unsafe { libc::geteuid() }
}
