//! System calls that no crate for this toolchain wraps: the only unsafe code of the project.

#[cfg(feature = "cli")]
mod arguments;
mod inherited;
#[cfg(feature = "legacy")]
mod linux;
#[cfg(feature = "cli")]
mod user;

#[cfg(feature = "cli")]
pub use self::arguments::rewrite_arguments;
pub use self::inherited::{is_inherited, Inherited};
#[cfg(feature = "legacy")]
pub use self::linux::*;
#[cfg(feature = "cli")]
pub use self::user::effective_user;
