//! The machine: its cores, its limits, and how to sit on one core.

use std::fs;
use std::io;

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

use crate::model::{Cores, Machine};

/// The first two cores that this process may use; none when the machine or the kernel doesn't allow it.
pub fn pick_cores() -> Option<Cores> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let (peer, load) = (cores.next()?, cores.next()?);
    pin(&[load]).ok()?;
    Some(Cores { peer, load })
}

/// Lets the calling thread and what it starts run on these cores alone.
pub fn pin(cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Clock ticks of a core, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// It ran something, the interrupts that this caused included.
    pub busy: u64,
    /// It would have, but the hypervisor ran something else.
    pub steal: u64,
}

/// Those of one core, or of all.
pub fn busy(core: Option<usize>) -> io::Result<Ticks> {
    let name = core.map_or("cpu".to_string(), |core| format!("cpu{core}"));
    let found = ticks(&fs::read_to_string("/proc/stat")?, &name);
    found.ok_or_else(|| io::Error::other("unreadable /proc/stat"))
}

/// A line of /proc/stat: user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, steal.
fn ticks(stat: &str, name: &str) -> Option<Ticks> {
    let line = stat
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let ticks: Option<Vec<u64>> = line
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    match ticks?[..] {
        [user, nice, system, _idle, _waiting, interrupts, soft, steal, ..] => Some(Ticks {
            busy: user + nice + system + interrupts + soft,
            steal,
        }),
        _ => None,
    }
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

/// What is to be said of this machine.
pub fn describe(pinned: Option<Cores>, descriptors: u64, cores: usize) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        cpu: cpu_model(&cpuinfo).unwrap_or("unknown").to_string(),
        cores,
        kernel: format!("Linux {}", numeric(&kernel)),
        pinned,
        descriptors,
        hypervisor: is_virtual(&cpuinfo).then(hypervisor),
        mitigations: mitigations(),
    }
}

fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// What the machine's maker calls itself and the product: no name of a host.
fn hypervisor() -> String {
    let read = |name| fs::read_to_string(format!("/sys/class/dmi/id/{name}")).ok();
    let parts = ["sys_vendor", "product_name"].into_iter().filter_map(read);
    let parts: Vec<String> = parts.map(|part| part.trim().to_string()).collect();
    match parts.is_empty() {
        true => "a virtual machine of a kind that it hides".to_string(),
        false => parts.join(" "),
    }
}

/// What the kernel says of each fault that this processor has.
fn mitigations() -> Vec<String> {
    let entries = fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
        .into_iter()
        .flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let told = paths.filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let name = path.file_name()?.to_str()?;
        (text.trim() != "Not affected").then(|| format!("{name}: {}", text.trim()))
    });
    let mut all: Vec<String> = told.collect();
    all.sort();
    all
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
    fn reads_how_busy_one_core_was_and_what_was_stolen() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 10 20 30 7 7 1 2 5 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\nintr 3\n";
        let of = |name| ticks(text, name).map(|t| (t.busy, t.steal));
        assert_eq!(of("cpu"), Some((45, 9)));
        assert_eq!(of("cpu1"), Some((63, 5)));
        assert_eq!(of("cpu10"), Some((5, 1)));
        assert_eq!(of("cpu0"), None);
    }

    #[test]
    fn knows_a_virtual_machine_by_its_flag() {
        assert!(is_virtual("model name : x\nflags\t\t: fpu hypervisor lm\n"));
        assert!(!is_virtual("flags : fpu lm\n"));
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
