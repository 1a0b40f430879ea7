//! CPU time, memory and descriptors of a process, its threads and its children, from /proc.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use signal_hook::consts::SIGCHLD;

/// CPU time used so far. `exact` counts nanoseconds of the threads that live; `user` and `system` count clock ticks
/// and include threads and awaited children that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    pub exact: u64,
    pub user: u64,
    pub system: u64,
}

/// Ticks a second that /proc counts in; fixed by the kernel's interface.
pub const TICKS: f64 = 100.0;

impl Cpu {
    /// Of a process and all its descendants.
    pub fn of(root: u32) -> io::Result<Cpu> {
        let mut sum = Cpu::default();
        for id in tree(root) {
            // One that ended meanwhile is counted by whoever awaits it.
            let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else {
                continue;
            };
            let [user, system, awaited_user, awaited_system] =
                ticks(&stat).ok_or_else(|| io::Error::other("unreadable stat"))?;
            sum.user += user + awaited_user;
            sum.system += system + awaited_system;
            for thread in threads(id) {
                let text = fs::read_to_string(format!("/proc/{id}/task/{thread}/schedstat"));
                sum.exact += text.ok().as_deref().and_then(on_core).unwrap_or(0);
            }
        }
        Ok(sum)
    }

    /// Seconds by ticks of one process alone, its children left out.
    pub fn seconds_alone(id: u32) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        ticks(&stat).map_or(0.0, |[user, system, ..]| (user + system) as f64 / TICKS)
    }

    pub fn since(self, earlier: Cpu) -> Cpu {
        Cpu {
            exact: self.exact.saturating_sub(earlier.exact),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }

    /// Seconds of the living threads.
    pub fn seconds(self) -> f64 {
        self.exact as f64 / 1e9
    }

    /// Seconds by ticks: coarse, and right where threads or processes come and go.
    pub fn seconds_by_ticks(self) -> f64 {
        (self.user + self.system) as f64 / TICKS
    }

    /// The part spent in user mode, by ticks.
    pub fn user_share(self) -> f64 {
        self.user as f64 / (self.user + self.system).max(1) as f64
    }
}

/// What a process and its descendants hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Proportional set size: pages shared by several of the processes count once.
    pub kib: u64,
    pub descriptors: u64,
    /// Those of the descriptors that are ends of pipes.
    pub pipe_ends: u64,
}

impl Held {
    pub fn of(root: u32) -> io::Result<Held> {
        let mut sum = Held::default();
        for id in tree(root) {
            let Ok(rollup) = fs::read_to_string(format!("/proc/{id}/smaps_rollup")) else {
                continue;
            };
            sum.kib += pss(&rollup).ok_or_else(|| io::Error::other("unreadable smaps_rollup"))?;
            for entry in fs::read_dir(format!("/proc/{id}/fd"))? {
                let target = fs::read_link(entry?.path()).unwrap_or_default();
                sum.descriptors += 1;
                sum.pipe_ends += u64::from(target.to_string_lossy().starts_with("pipe:"));
            }
        }
        Ok(sum)
    }
}

/// Processes of a tree and their open descriptors: what a relay is back to when all its tunnels have ended.
pub fn census(root: u32) -> (usize, usize) {
    let tree = tree(root);
    let open =
        |id: &u32| fs::read_dir(format!("/proc/{id}/fd")).map_or(0, |entries| entries.count());
    (tree.len(), tree.iter().map(open).sum())
}

/// The process and all its descendants, parents first.
pub fn tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(&id) = all.get(next) {
        next += 1;
        for thread in threads(id) {
            let children = fs::read_to_string(format!("/proc/{id}/task/{thread}/children"));
            all.extend(numbers(&children.unwrap_or_default()));
        }
    }
    all
}

/// The threads of a tree of processes.
pub fn tasks(root: u32) -> BTreeSet<u32> {
    tree(root).into_iter().flat_map(threads).collect()
}

/// Whether it ignores SIGCHLD: then nobody awaits its children, and their times are lost as they end.
pub fn forgets_children(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    ignored(&status).is_some_and(|signals| signals & (1 << (SIGCHLD - 1)) != 0)
}

/// The mask of ignored signals; signal n is bit n - 1.
fn ignored(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn threads(id: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{id}/task")) else {
        return Vec::new();
    };
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

fn numbers(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.split_whitespace().filter_map(|word| word.parse().ok())
}

/// Ticks of /proc/PID/stat: user and system, its own and those of the children that it awaited.
fn ticks(stat: &str) -> Option<[u64; 4]> {
    // The name stands in parentheses and may hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |n: usize| fields.get(n)?.parse::<u64>().ok();
    Some([field(11)?, field(12)?, field(13)?, field(14)?])
}

/// The first number of schedstat: nanoseconds on a core.
fn on_core(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

fn pss(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ticks_behind_a_name_with_parentheses() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 11 22 3 4 20 0 1 0 99 1 2";
        assert_eq!(ticks(stat), Some([11, 22, 3, 4]));
        assert_eq!(ticks("7 (cut) S 1"), None);
    }

    #[test]
    fn reads_pss_and_not_its_parts() {
        let rollup = "00-ff ---p 00000000 00:00 0 [rollup]\nRss:    1760 kB\nPss:     312 kB\nPss_Dirty:  112 kB\n";
        assert_eq!(pss(rollup), Some(312));
        assert_eq!(pss("Rss: 1 kB\n"), None);
    }

    #[test]
    fn reads_time_on_core() {
        assert_eq!(on_core("3701466 17 1\n"), Some(3_701_466));
        assert_eq!(on_core(""), None);
    }

    #[test]
    fn reads_which_signals_are_ignored() {
        let status =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000011000\nSigCgt:\t0000000000000002\n";
        assert_eq!(ignored(status), Some(1 << 16 | 1 << 12));
        assert_eq!(ignored("SigBlk: 0\n"), None);
        assert!(!forgets_children(std::process::id()));
    }

    #[test]
    fn sees_itself() {
        let me = std::process::id();
        assert_eq!(tree(me)[0], me);
        assert!(Held::of(me).unwrap().kib > 0);
        // No two readings are compared: threads of other tests end between them.
        assert!(Cpu::of(me).unwrap().exact > 0);
    }
}
