//! Traps on the way from futures 0.1 to async/await: one test for each row of MIGRATION.md's table
//! that can be run, and named for it.
//!
//! Each has three parts: what futures 0.1 did, the port that suggests itself and is wrong, and the
//! port that is right. A port that would hang is polled by hand: it is pending, and nothing has a
//! waker. `refusals.rs` holds those that the compiler refuses; rustdoc compiles it, with the
//! crate.

#[path = "../../../adapters/tests/common/mod.rs"]
mod common;

mod channels;
mod codecs;
mod combinators;
mod io;
mod pools;
mod races;
mod reactors;
mod relays;
mod sinks;
mod sockets;
mod spawning;
mod streams;
mod tasks;
mod timers;
