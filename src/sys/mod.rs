//! What no crate for this toolchain does safely, system calls above all: the only unsafe code of the
//! program.

#[cfg(feature = "cli")]
mod arguments;
mod inherited;
#[cfg(feature = "legacy")]
mod linux;
#[cfg(feature = "legacy")]
mod notify;
#[cfg(feature = "cli")]
mod user;
mod wait;

#[cfg(feature = "cli")]
pub use self::arguments::rewrite_arguments;
pub use self::inherited::{is_inherited, Inherited};
#[cfg(feature = "legacy")]
pub use self::linux::*;
#[cfg(feature = "legacy")]
pub use self::notify::Notifier;
#[cfg(feature = "cli")]
pub use self::user::effective_user;
pub(crate) use self::wait::{wait_readable, wait_writable};
