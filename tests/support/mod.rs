//! The rig: starts the program and its peers, and ends them again.
//!
//! It tests the program only from outside: its command line, its standard streams, its sockets and
//! what the kernel reports about its process. So the same suite runs against any binary with this
//! command line: point `PTUNNEL_BIN` at it. Everything here blocks, on std's sockets and threads;
//! no test waits for a time to pass where it can wait for a condition.

// What `new` makes is a process, a folder or a network: none is a default value.
#![allow(clippy::new_without_default)]

pub mod bytes;
pub mod ends;
#[cfg(target_arch = "x86_64")]
pub mod faults;
pub mod kerberos;
pub mod namespace;
pub mod parts;
pub mod peer;
pub mod process;
pub mod program;
pub mod repository;
pub mod services;
pub mod socks;
pub mod sys;
pub mod temp;
pub mod tls;
pub mod traffic;
pub mod wait;

pub use self::bytes::Pattern;
pub use self::peer::{closed_address, Blackhole, Connection, Peer};
pub use self::process::Process;
pub use self::program::{Finished, Ptunnel, Running};
pub use self::temp::TempDir;
pub use self::wait::{eventually, eventually_some, steadily, TIMEOUT};
