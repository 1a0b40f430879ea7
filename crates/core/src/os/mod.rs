//! Access to the operating system: system calls, name lookups, resource exhaustion, the service
//! manager, standard input and output, the program that prints a password, the handover of a
//! connection to ssh.
//!
//! Must not hold a rule of a protocol, configuration or a future. It uses `ptunnel-proto` alone, for
//! escaping and locks; all modules of this crate but `timer` and `semaphore` use it, and so do
//! `ptunnel-cli`, the program and the rungs of `compat/ladder`.

pub mod command_output;
pub(crate) mod deadline_stream;
pub mod exhaustion;
pub mod fdpass;
pub mod own_sockets;
pub mod panics;
pub mod resolver;
pub(crate) mod resources;
pub mod sd_notify;
pub(crate) mod source_address;
pub mod splice_failure;
pub mod stdio;
#[allow(unsafe_code)] // here and nowhere else
pub mod sys;
pub mod thread_pool;

pub use self::sys::unacknowledged;
