//! The program in a hostile world: what it meets in months without an operator.
//!
//! Like the suite, it tests the program from outside, and `PTUNNEL_BIN` points it at another
//! binary. Each test has a short form, which a change must pass, and a long one, at most half an
//! hour for all: `make torture`.

mod cable;
mod crowd;
mod scale;

mod access;
mod bytes;
mod differential;
mod exhaustion;
mod faults;
mod network;
mod restarts;
mod secrets;
#[cfg(target_arch = "x86_64")]
mod syscalls;
