//! How much this process uses of what the system limits: descriptors and memory.

use std::fs;
use std::path::Path;

use super::sys;

/// The use of a limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The amount in use, in the unit of `limit`.
    pub(crate) used: u64,
    /// The amount that can be used, at least 1.
    pub(crate) limit: u64,
}

/// Returns the number of open descriptors and their limit (RLIMIT_NOFILE); `None` without /proc.
pub(crate) fn descriptors() -> Option<Usage> {
    let limit = sys::descriptor_limit().ok()?;
    // More are open where the limit was lowered since.
    let used = open_descriptors()?.min(limit);
    Some(Usage { used, limit })
}

/// The open descriptors, a line for each.
const DESCRIPTORS: &str = "/proc/self/fd";

/// Returns the number of open descriptors. Where [the kernel doesn't count
/// them](are_descriptors_counted), this takes about a microsecond for each.
pub(crate) fn open_descriptors() -> Option<u64> {
    // Reading the directory takes a descriptor, which doesn't count.
    counted_descriptors()
        .or_else(|| (fs::read_dir(DESCRIPTORS).ok()?.count() as u64).checked_sub(1))
}

/// Returns whether the kernel counts the open descriptors: since Linux 6.2.
pub(crate) fn are_descriptors_counted() -> bool {
    counted_descriptors().is_some()
}

fn counted_descriptors() -> Option<u64> {
    let counted = fs::metadata(DESCRIPTORS).ok()?.len();
    Some(counted).filter(|counted| *counted > 0)
}

/// Returns the memory of this process's control group and its limit, in bytes, without the cache of
/// files: what systemd's `MemoryMax=` and a container's limit bound. `None` without a limit, and with
/// the first version of control groups.
pub(crate) fn memory() -> Option<Usage> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    memory_of(Path::new("/sys/fs/cgroup"), path)
}

/// Returns the memory of the group, or of the group around it, that is nearest to its limit.
fn memory_of(root: &Path, group: &str) -> Option<Usage> {
    let limited = |group: &Path| -> Option<Usage> {
        let folder = root.join(group);
        let number = |name| {
            fs::read_to_string(folder.join(name))
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        let stat = fs::read_to_string(folder.join("memory.stat")).ok()?;
        let mut cached = stat
            .lines()
            .filter_map(|line| line.strip_prefix("inactive_file "));
        let cached: u64 = cached.next()?.parse().ok()?;
        let used: u64 = number("memory.current")?;
        Some(Usage {
            used: used.saturating_sub(cached),
            limit: number("memory.max").filter(|limit| *limit > 0)?, // not "max"
        })
    };
    let usages = Path::new(group).ancestors().filter_map(limited);
    usages.max_by_key(|usage| u128::from(usage.used) * 10_000 / u128::from(usage.limit))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::env;
    use std::fs::File;
    use std::process;

    use super::*;

    #[test]
    fn an_open_file_is_counted() {
        let before = descriptors().unwrap();
        // Other tests open and close descriptors meanwhile, but not that many.
        let files: Vec<File> = (0..300).map(|_| File::open("/dev/null").unwrap()).collect();
        let after = descriptors().unwrap();
        assert!(after.used >= before.used + 200, "{:?} {:?}", before, after);
        assert!(after.used <= after.limit);
        drop(files);
    }

    #[test]
    fn the_group_that_is_nearest_to_its_limit_counts() {
        let root = env::temp_dir().join(format!("ptunnel-cgroup-{}", process::id()));
        let group = |path: &str, max: &str, current: &str| {
            let folder = root.join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("memory.max"), format!("{}\n", max)).unwrap();
            fs::write(folder.join("memory.current"), format!("{}\n", current)).unwrap();
            fs::write(folder.join("memory.stat"), "anon 5\ninactive_file 100\n").unwrap();
        };
        let memory = || memory_of(&root, "system.slice/ptunnel.service");
        assert_eq!(memory(), None);
        group("system.slice/ptunnel.service", "max", "900");
        assert_eq!(memory(), None);
        group("system.slice", "4000", "1100");
        let (used, limit) = (1000, 4000);
        assert_eq!(memory(), Some(Usage { used, limit }));
        group("system.slice/ptunnel.service", "1000", "900");
        let (used, limit) = (800, 1000);
        assert_eq!(memory(), Some(Usage { used, limit }));
        fs::remove_dir_all(&root).unwrap();
    }
}
