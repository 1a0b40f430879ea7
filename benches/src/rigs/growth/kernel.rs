//! What the kernel holds and what it can do, as far as growth is about it.

use std::fs;
use std::io;
use std::process::Command;
use std::sync::OnceLock;

/// The kernel's slab, in KiB, of all processes: no process is charged for that of sockets.
pub fn slab() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    slab_in(&text).ok_or_else(|| io::Error::other("/proc/meminfo has no Slab"))
}

fn slab_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("Slab:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What a run must say of delay and loss, which a loopback has not: whether this kernel could add them.
pub fn no_distance() -> &'static str {
    static NOTE: OnceLock<String> = OnceLock::new();
    NOTE.get_or_init(|| {
        // In a network namespace of its own, so that nothing else is delayed.
        let tried = Command::new("unshare")
            .args([
                "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms",
            ])
            .output();
        let why = match tried {
            Ok(output) if output.status.success() => {
                return "no delay and no loss: METHODOLOGY.md says how to add them".to_string()
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
            Err(e) => format!("unshare: {e}"),
        };
        format!("no delay and no loss: this kernel or user can't add them ({why})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_slab() {
        let text = "MemTotal: 9 kB\nSlab:             588856 kB\nSUnreclaim: 7 kB\n";
        assert_eq!(slab_in(text), Some(588_856));
        assert_eq!(slab_in("Slabs: 1 kB\n"), None);
        assert!(slab().unwrap() > 0);
    }

    #[test]
    fn a_run_says_that_it_has_no_distance() {
        assert!(no_distance().starts_with("no delay and no loss: "));
    }
}
