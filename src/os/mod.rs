//! What the operating system offers: system calls, name lookups, exhaustion, the service manager.
//!
//! Holds no rule of a protocol and no configuration. Any other folder may use it; it uses `text`
//! alone.

pub mod exhaustion;
pub mod panics;
pub mod resolver;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod sd_notify;
pub(crate) mod semaphore;
pub(crate) mod source_address;
pub mod splice;
pub mod stdio;
#[allow(unsafe_code)] // here and nowhere else
pub(crate) mod sys;

pub use self::sys::unacknowledged;
