//! What the kernel, callgrind and strace say about a process.

pub mod callgrind;
pub mod foreign;
pub mod machine;
pub mod process;
pub mod program;
pub mod strace;
