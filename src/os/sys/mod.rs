//! What no crate for this toolchain does safely, system calls above all: the only unsafe code of the
//! program.

#[cfg(feature = "cli")]
mod arguments;
#[cfg(feature = "pac")]
mod confine;
mod delivery;
#[cfg(feature = "legacy")]
mod linux;
#[cfg(feature = "legacy")]
mod notify;
#[cfg(feature = "tls")]
mod openssl;
#[cfg(feature = "pac")]
mod quickjs;
mod socket_activation;
#[cfg(feature = "cli")]
mod user;
mod wait;

#[cfg(feature = "cli")]
pub use self::arguments::rewrite_arguments;
#[cfg(feature = "pac")]
pub(crate) use self::confine::{as_stdio, confine, die_in, stdin_socket, Limits};
pub use self::delivery::unacknowledged;
#[cfg(feature = "legacy")]
pub use self::linux::*;
#[cfg(feature = "legacy")]
pub use self::notify::Notifier;
#[cfg(feature = "tls")]
pub(crate) use self::openssl::clear_auto_retry;
#[cfg(feature = "pac")]
pub(crate) use self::quickjs::Engine;
pub use self::socket_activation::{is_inherited, InheritedSocket};
#[cfg(feature = "cli")]
pub use self::user::effective_user;
pub(crate) use self::wait::{wait_readable, wait_writable};
