//! All unsafe code of the program, behind safe functions: system calls, C libraries and a trait of
//! futures 0.1, if no crate for this toolchain covers them.
//!
//! A file holds one system call or a few that belong together. Policy belongs to the callers:
//! nothing here retries or logs. The folders that can use `os` can use it.

#[cfg(feature = "cli")]
mod argv;
mod child;
#[cfg(feature = "cli")]
mod confinement;
#[cfg_attr(not(feature = "cli"), allow(dead_code))] // which reads the files of users
mod crypt;
mod descriptor;
#[cfg(feature = "legacy")]
mod epoll;
mod gssapi;
mod handover;
mod library;
#[cfg(any(feature = "cli", feature = "legacy"))]
mod listening_socket;
#[cfg(feature = "tls")]
mod openssl;
#[cfg(any(feature = "cli", feature = "legacy"))]
mod original_destination;
mod pipe;
mod process;
#[cfg(feature = "pac")]
mod quickjs;
#[cfg(feature = "pac")]
mod sandbox;
#[cfg(any(feature = "cli", feature = "pac"))]
mod seccomp;
mod socket_activation;
#[cfg(feature = "legacy")]
mod task_handle;
#[cfg(feature = "legacy")]
mod timer_descriptor;

#[cfg(feature = "cli")]
pub use self::argv::{effective_user, rewrite_arguments};
pub(crate) use self::child::{isolate, kill_session, set_nonblocking};
#[cfg(feature = "cli")]
pub(crate) use self::confinement::confine_program;
pub(crate) use self::crypt::Crypt;
pub use self::descriptor::{unacknowledged, ReservedFd};
pub(crate) use self::descriptor::{wait_readable, wait_writable};
#[cfg(feature = "legacy")]
pub(crate) use self::epoll::{Epoll, Event, Events};
pub(crate) use self::gssapi::GssContext;
pub(crate) use self::handover::{
    continue_in_child, is_stdout_unix, outlive_parent, pass_over_stdout,
};
#[cfg(any(feature = "cli", feature = "legacy"))]
pub use self::listening_socket::{accept, set_mode};
#[cfg(feature = "tls")]
pub(crate) use self::openssl::clear_auto_retry;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub(crate) use self::original_destination::original_destination;
pub use self::pipe::Pipe;
pub use self::process::{close_stdout, descriptor_limit, monotonic, raise_descriptor_limit};
#[cfg(feature = "pac")]
pub(crate) use self::quickjs::QuickJs;
#[cfg(feature = "pac")]
pub(crate) use self::sandbox::{as_stdio, confine, die_in, stdin_socket, SandboxLimits};
#[cfg(feature = "cli")]
pub(crate) use self::seccomp::forbid_privileges;
pub use self::socket_activation::{is_inherited, InheritedSocket};
#[cfg(feature = "legacy")]
pub use self::task_handle::Notifier;
#[cfg(feature = "legacy")]
pub(crate) use self::timer_descriptor::TimerDescriptor;
