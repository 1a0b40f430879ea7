//! CPU time of a tunnel, be it one thread that lives or a process for each connection.

use std::io;

use crate::tools::process::Cpu;

/// Clock ticks that both ways of counting may differ by for other reasons than threads that ended.
const SLACK: f64 = 0.03;

#[derive(Clone, Copy, Debug)]
pub struct Used {
    id: u32,
    before: Cpu,
}

impl Used {
    pub fn begin(id: u32) -> io::Result<Used> {
        let before = Cpu::of(id)?;
        Ok(Used { id, before })
    }

    pub fn seconds(self) -> io::Result<f64> {
        Ok(seconds(Cpu::of(self.id)?.since(self.before)))
    }
}

/// Nanoseconds of the threads that live. When the clock ticks hold clearly more, threads or processes have ended since,
/// and only the ticks hold their time.
fn seconds(used: Cpu) -> f64 {
    let ticks = used.seconds_by_ticks();
    match ticks > used.seconds() + SLACK {
        true => ticks,
        false => used.seconds(),
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
        assert_eq!(seconds(cpu(403_000_000, 21, 20)), 0.403);
        assert_eq!(seconds(cpu(403_000_000, 31, 30)), 0.61);
        assert_eq!(seconds(cpu(0, 3, 4)), 0.07);
    }
}
