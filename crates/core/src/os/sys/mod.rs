//! System calls and C libraries that no crate for this toolchain covers, behind safe functions: all
//! unsafe code of the program but the task handle of `ptunnel-notify`.
//!
//! A file holds one system call or a few that belong together. Policy belongs to the callers:
//! nothing here retries or logs. What uses `os` can use it.

mod argv;
mod child;
mod confinement;
mod crypt;
mod descriptor;
mod epoll;
mod fdpass;
mod gssapi;
mod library;
mod listening_socket;
#[cfg(feature = "tls")]
mod openssl;
mod original_destination;
#[cfg(feature = "pac")]
mod pac_sandbox;
mod pipe;
mod process;
#[cfg(feature = "pac")]
mod quickjs;
mod seccomp;
mod socket_activation;
mod timer_descriptor;

pub use self::argv::{effective_user, rewrite_arguments};
pub(crate) use self::child::{isolate, kill_session, set_nonblocking};
pub use self::confinement::confine_program;
pub use self::crypt::Crypt;
pub use self::descriptor::{unacknowledged, ReservedFd};
pub(crate) use self::descriptor::{wait_readable, wait_writable};
pub use self::epoll::{Epoll, Event, Events};
pub(crate) use self::fdpass::{
    continue_in_child, is_stdout_unix, outlive_parent, pass_over_stdout,
};
pub(crate) use self::gssapi::GssContext;
pub use self::listening_socket::{accept, set_mode};
#[cfg(feature = "tls")]
pub(crate) use self::openssl::clear_auto_retry;
pub(crate) use self::original_destination::original_destination;
#[cfg(feature = "pac")]
pub(crate) use self::pac_sandbox::{as_stdio, confine, die_in, stdin_socket, SandboxLimits};
pub use self::pipe::Pipe;
pub use self::process::{close_stdout, descriptor_limit, monotonic, raise_descriptor_limit};
#[cfg(feature = "pac")]
pub(crate) use self::quickjs::QuickJs;
pub use self::seccomp::forbid_privileges;
pub use self::socket_activation::{is_inherited, InheritedSocket};
pub use self::timer_descriptor::TimerDescriptor;
