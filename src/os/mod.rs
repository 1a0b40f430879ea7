//! Access to the operating system: system calls, name lookups, resource exhaustion, the service
//! manager, standard input and output, the program that prints a password, the handover of a
//! connection to ssh.
//!
//! Must not hold a rule of a protocol, configuration or a future. The folders that `.ci/layers`
//! lists may use it (all but `proto`, `inbound`, `text`, `timer` and `demo`), and the rungs of
//! `compat/`; it uses `text` alone.

pub(crate) mod deadline_stream;
pub mod exhaustion;
pub mod handover;
pub mod mutex;
pub mod own_sockets;
pub mod panics;
pub mod password_command;
mod password_program;
pub mod resolver;
pub(crate) mod resources;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod sd_notify;
pub(crate) mod semaphore;
pub(crate) mod source_address;
pub mod splice_failure;
pub mod stdio;
#[allow(unsafe_code)] // here and nowhere else
pub mod sys;
pub mod thread_pool;

pub use self::sys::unacknowledged;
