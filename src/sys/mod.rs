//! System calls that no crate for this toolchain wraps: the only unsafe code of the project.

mod inherited;
#[cfg(feature = "legacy")]
mod linux;

pub use self::inherited::Inherited;
#[cfg(feature = "legacy")]
pub use self::linux::*;
