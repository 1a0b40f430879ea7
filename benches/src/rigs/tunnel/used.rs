//! CPU time of a tunnel, be it one thread that lives or a process for each connection.

use std::collections::BTreeSet;
use std::io;

use crate::rigs::Bench;
use crate::tools::machine::busy;
use crate::tools::process::{forgets_children, tasks, Cpu, TICKS};

/// Seconds that nanoseconds and clock ticks may differ by for other reasons than threads that ended.
const SLACK: f64 = 0.03;

#[derive(Debug)]
pub struct Used {
    id: u32,
    before: Cpu,
    tasks: BTreeSet<u32>,
    core: Option<(usize, u64)>,
}

impl Used {
    pub fn begin(bench: &Bench, id: u32) -> io::Result<Used> {
        let core = match bench.cores {
            // Nobody counts the children that end, but nothing else runs on this core.
            Some(cores) if forgets_children(id) => Some(cores.peer),
            _ => None,
        };
        Ok(Used {
            id,
            before: Cpu::of(id)?,
            tasks: tasks(id),
            core: core.and_then(|core| Some((core, busy(core)?))),
        })
    }

    pub fn seconds(self) -> io::Result<f64> {
        if let Some((core, before)) = self.core {
            let now = busy(core).ok_or_else(|| io::Error::other("unreadable stat"))?;
            return Ok((now - before) as f64 / TICKS);
        }
        let same_tasks = tasks(self.id) == self.tasks;
        Ok(seconds(Cpu::of(self.id)?.since(self.before), same_tasks))
    }
}

/// Nanoseconds hold the threads that live, and only the ticks those that have ended. Where all ended that began, no
/// task differs, but the ticks hold far more.
fn seconds(used: Cpu, same_tasks: bool) -> f64 {
    let (exact, ticks) = (used.seconds(), used.seconds_by_ticks());
    match same_tasks && ticks <= exact + SLACK && ticks <= 2.0 * exact {
        true => exact,
        false => ticks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_count_where_threads_have_ended() {
        let cpu = |exact, user, system| Cpu {
            exact,
            user,
            system,
        };
        assert_eq!(seconds(cpu(403_000_000, 21, 20), true), 0.403);
        assert_eq!(seconds(cpu(403_000_000, 21, 20), false), 0.41);
        // A thread that began and ended in between leaves no other trace.
        assert_eq!(seconds(cpu(403_000_000, 31, 30), true), 0.61);
        assert_eq!(seconds(cpu(800_000, 2, 1), true), 0.03);
    }
}
