//! Rigs that measure ptunnel beside its peers, in one run on one machine.
//!
//! - [`peer`]: what the peers in `src/bin/` share; nothing of it runs in the rig itself.
//! - [`peers`]: `peers.toml`, how a peer is built, found, started and stopped.
//! - [`load`]: the load, and the server behind the relays; both check every byte.
//! - [`tools`]: what the kernel, callgrind and strace say about a process.
//! - [`report`]: samples, medians, ratios, targets, and the files that hold them.
//! - [`rigs`]: one module a rig; it ties the others together.
//!
//! `METHODOLOGY.md` says how each figure is taken and where it is biased.

pub mod load;
pub mod peer;
pub mod peers;
pub mod report;
pub mod rigs;
pub mod stop;
pub mod sys;
pub mod tools;
