//! CPU time of a tunnel that is one thread, or a process for each connection.

use std::io;

use crate::rigs::Bench;
use crate::tools::machine::busy;
use crate::tools::process::{forgets_children, Cpu, TICKS};

/// A reading to measure from.
#[derive(Debug)]
pub enum Used {
    Process {
        id: u32,
        before: Cpu,
    },
    /// Children that end aren't counted, but nothing else runs on this core.
    Core {
        core: usize,
        before: u64,
    },
}

impl Used {
    pub fn begin(bench: &Bench, id: u32) -> io::Result<Used> {
        match bench.cores {
            Some(cores) if forgets_children(id) => Ok(Used::Core {
                core: cores.peer,
                before: ticks(cores.peer)?,
            }),
            _ => Ok(Used::Process {
                id,
                before: Cpu::of(id)?,
            }),
        }
    }

    pub fn seconds(self) -> io::Result<f64> {
        match self {
            Used::Process { id, before } => Ok(Cpu::of(id)?.seconds_since(before)),
            Used::Core { core, before } => Ok((ticks(core)? - before) as f64 / TICKS),
        }
    }
}

fn ticks(core: usize) -> io::Result<u64> {
    let ticks = busy(core).map(|ticks| ticks.busy);
    ticks.ok_or_else(|| io::Error::other("unreadable stat"))
}
