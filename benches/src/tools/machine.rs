//! The machine: its cores, its limits, and how to sit on one core.

use std::fs;
use std::io;

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use serde::{Deserialize, Serialize};

/// One core for the peer that is measured and another for the load; none when the machine or the kernel doesn't allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cores {
    #[serde(alias = "relay")]
    pub peer: usize,
    pub load: usize,
}

impl Cores {
    /// The first two cores that this process may use.
    pub fn pick() -> Option<Cores> {
        let allowed = sched_getaffinity(None).ok()?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let cores = Cores {
            peer: cores.next()?,
            load: cores.next()?,
        };
        pin(cores.load).ok()?;
        Some(cores)
    }
}

/// Moves the calling thread to one core; what it starts inherits that.
pub fn pin(core: usize) -> io::Result<()> {
    pin_to(&[core])
}

/// Lets the calling thread and what it starts run on these cores.
pub fn pin_to(cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Clock ticks in which a core has run anything, the interrupts that this caused included.
pub fn busy(core: usize) -> Option<u64> {
    busy_ticks(&fs::read_to_string("/proc/stat").ok()?, core)
}

/// A core's line of /proc/stat: user, nice, system, idle, waiting for a disk, interrupts, soft interrupts.
fn busy_ticks(stat: &str, core: usize) -> Option<u64> {
    let name = format!("cpu{core} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
    let ticks: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    match ticks?[..] {
        [user, nice, system, _idle, _waiting, interrupts, soft, ..] => {
            Some(user + nice + system + interrupts + soft)
        }
        _ => None,
    }
}

/// Processes that ran or waited for a core, over the last minute.
pub fn load_average() -> Option<f64> {
    last_minute(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// The first field of /proc/loadavg.
fn last_minute(loadavg: &str) -> Option<f64> {
    loadavg.split(' ').next()?.parse().ok()
}

/// Raises the number of descriptors to what the kernel grants and returns it. Children inherit it.
pub fn raise_descriptors() -> u64 {
    let most = getrlimit(Resource::Nofile).maximum;
    let wanted = most.map_or(1 << 20, |most| most.max(1 << 17));
    for limit in [Some(wanted), most] {
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit,
                maximum: limit.max(most),
            },
        );
        if getrlimit(Resource::Nofile).current == limit {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(1 << 20)
}

/// What a reader must know to judge the figures; nothing that names the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub pinned: Option<Cores>,
    pub descriptors: u64,
}

impl Machine {
    pub fn describe(pinned: Option<Cores>, descriptors: u64, cores: usize) -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cpu: cpu_model(&cpuinfo).unwrap_or("unknown").to_string(),
            cores,
            kernel: format!("Linux {}", numeric(&kernel)),
            pinned,
            descriptors,
        }
    }
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// The version without what a builder appended.
fn numeric(release: &str) -> &str {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.');
    &release[..end.unwrap_or(release.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_busy_one_core_was() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 10 20 30 7 7 1 2 5 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\nintr 3\n";
        assert_eq!(busy_ticks(text, 1), Some(63));
        assert_eq!(busy_ticks(text, 10), Some(5));
        assert_eq!(busy_ticks(text, 0), None);
    }

    #[test]
    fn reads_the_load_average() {
        assert_eq!(last_minute("0.52 1.58 2.59 3/467 12345\n"), Some(0.52));
        assert_eq!(last_minute("\n"), None);
        assert!(load_average().is_some());
    }

    #[test]
    fn reads_model_and_release() {
        assert_eq!(
            cpu_model("processor : 0\nmodel name\t: AMD EPYC\n"),
            Some("AMD EPYC")
        );
        assert_eq!(numeric("6.1.0-18-amd64\n"), "6.1.0");
    }
}
