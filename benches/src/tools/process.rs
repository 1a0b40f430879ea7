//! CPU time, memory and descriptors of a process, its threads and its children, from /proc.

use std::fs;
use std::io;

use signal_hook::consts::SIGCHLD;

use super::machine::busy;
use crate::sys::nanoseconds_of;

/// PF_KTHREAD of linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// CPU time used so far.
///
/// `own` is that of the processes that live: the clock of each, in nanoseconds, which keeps the time of threads that have
/// ended. `awaited` is that of children that have ended and been awaited, in clock ticks; the kernel sums it in
/// nanoseconds and cuts the sum, so it is off by a tick each for user and system, however many they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    own: u64,
    awaited: u64,
    /// Everything once more by ticks, which alone tell user from system.
    ticks: [u64; 2],
}

/// Ticks a second that /proc counts in; fixed by the kernel's interface.
pub const TICKS: f64 = 100.0;

/// CPU time that was used.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    pub seconds: f64,
    /// The part of it that was spent in user mode, by ticks.
    pub user: f64,
}

impl Used {
    /// Microseconds for each of `count` units of work.
    pub fn each(self, count: u64) -> f64 {
        self.seconds / count as f64 * 1e6
    }
}

impl Cpu {
    /// Of a process and all its descendants. Of one whose children are lost to the count as they end, the busy time of its
    /// core, on which nothing else runs.
    fn of(root: u32, core: Option<usize>) -> io::Result<Cpu> {
        let mut sum = Cpu::default();
        if let Some(core) = core.filter(|_| forgets_children(root)) {
            sum.awaited = busy(Some(core))?.busy;
            return Ok(sum);
        }
        for id in tree(root) {
            // One that ended meanwhile is counted by whoever awaits it.
            let (Some(stat), Ok(own)) = (stat(id), nanoseconds_of(id)) else {
                continue;
            };
            sum.own += own;
            sum.awaited += stat.awaited.iter().sum::<u64>();
            for mode in 0..2 {
                sum.ticks[mode] += stat.own[mode] + stat.awaited[mode];
            }
        }
        Ok(sum)
    }

    /// Does that work; returns what came of it, and the CPU time that the process and its descendants used meanwhile.
    pub fn during<T>(
        root: u32,
        core: Option<usize>,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Used)> {
        let before = Cpu::of(root, core)?;
        let done = work()?;
        Ok((done, Cpu::of(root, core)?.since(before)))
    }

    /// Of one process alone, its children left out.
    pub fn seconds_alone(id: u32) -> f64 {
        nanoseconds_of(id).unwrap_or_default() as f64 / 1e9
    }

    /// A child that lived at the earlier reading and has ended at this one went from one sum to the other, so neither may
    /// be cut at zero.
    fn since(self, earlier: Cpu) -> Used {
        let own = (self.own as f64 - earlier.own as f64) / 1e9;
        let awaited = (self.awaited as f64 - earlier.awaited as f64) / TICKS;
        let [user, system] =
            [0, 1].map(|mode| self.ticks[mode].saturating_sub(earlier.ticks[mode]));
        Used {
            seconds: (own + awaited).max(0.0),
            user: user as f64 / (user + system).max(1) as f64,
        }
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

/// Processes of a tree and their open sockets: what a relay is back to when all its tunnels have ended. Other descriptors
/// may stay, such as the pipes of a pool.
pub fn census(root: u32) -> (usize, usize) {
    let tree = tree(root);
    let sockets = |id: &u32| {
        let entries = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count()
    };
    (tree.len(), tree.iter().map(sockets).sum())
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

/// Whether it ignores SIGCHLD: then no process awaits its children, and their times are lost as they end.
fn forgets_children(id: u32) -> bool {
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

/// What is needed of /proc/PID/stat. Ticks are those of user and system, its own and those of children that it awaited.
#[derive(Debug, PartialEq)]
pub(super) struct Stat {
    pub name: String,
    pub parent: u32,
    pub session: u32,
    /// It is a thread of the kernel.
    pub is_kernels: bool,
    pub own: [u64; 2],
    pub awaited: [u64; 2],
}

pub(super) fn stat(id: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Stat> {
    // The name stands in parentheses and may hold spaces and parentheses.
    let (head, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |n: usize| fields.get(n)?.parse::<u64>().ok();
    Some(Stat {
        name: head.split_once('(')?.1.to_string(),
        parent: field(1)? as u32,
        session: field(3)? as u32,
        is_kernels: field(6)? & KERNEL_THREAD != 0,
        own: [field(11)?, field(12)?],
        awaited: [field(13)?, field(14)?],
    })
}

fn pss(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use rustix::time::{clock_gettime, ClockId};

    use super::*;

    #[test]
    fn reads_what_stands_behind_a_name_with_parentheses() {
        let line = "7 (a (b) c) S 5 7 8 0 -1 4194560 100 0 0 0 11 22 3 4 20 0 1 0 99 1 2";
        let stat = Stat {
            name: "a (b) c".to_string(),
            parent: 5,
            session: 8,
            is_kernels: false,
            own: [11, 22],
            awaited: [3, 4],
        };
        assert_eq!(parse(line), Some(stat));
        // 4194560 | KERNEL_THREAD.
        assert!(
            parse(&line.replace("4194560", "6291712"))
                .unwrap()
                .is_kernels
        );
        assert_eq!(parse("7 (cut) S 1"), None);
    }

    #[test]
    fn reads_pss_and_not_its_parts() {
        let rollup = "00-ff ---p 00000000 00:00 0 [rollup]\nRss:    1760 kB\nPss:     312 kB\nPss_Dirty:  112 kB\n";
        assert_eq!(pss(rollup), Some(312));
        assert_eq!(pss("Rss: 1 kB\n"), None);
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
        assert!(Cpu::seconds_alone(me) > 0.0);
    }

    #[test]
    fn a_census_counts_sockets_and_no_other_descriptors() {
        let mut child = Command::new("sleep")
            .arg("9")
            .stdin(UdpSocket::bind("127.0.0.1:0").map(OwnedFd::from).unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let counted = census(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(counted, (1, 1));
    }

    /// A process that starts, works and ends its children or threads when it reads a line, and says that it has.
    fn worker(script: &str) -> (Child, impl FnMut(&mut Child)) {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let step = move |child: &mut Child| {
            writeln!(child.stdin.as_mut().unwrap()).unwrap();
            output.read_line(&mut String::new()).unwrap();
        };
        (child, step)
    }

    #[test]
    fn children_that_have_ended_are_counted() {
        let spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script = format!("read go; ({spin}; true); echo done; read end");
        let (mut child, mut step) = worker(&script);
        let id = child.id();
        let stepped = Cpu::during(id, None, || {
            step(&mut child);
            Ok(())
        });
        let used = stepped.unwrap().1;
        assert!(Cpu::seconds_alone(child.id()) < 0.02);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(used.seconds > 0.02, "{used:?}");
    }

    /// CPU time of the spinning thread of the process that the next test starts.
    const SPUN: Duration = Duration::from_millis(200);

    #[test]
    #[ignore = "a part of threads_that_have_ended_are_counted, which starts it in a process of its own"]
    fn a_thread_that_spins_and_ends() {
        let spins = || {
            let used = || clock_gettime(ClockId::ThreadCPUTime);
            while Duration::try_from(used()).unwrap() < SPUN {}
        };
        thread::spawn(spins).join().unwrap();
        println!("\nended");
        io::stdin().read_line(&mut String::new()).unwrap();
    }

    /// In a separate process: the other tests of this one use CPU time too.
    #[test]
    fn threads_that_have_ended_are_counted() {
        let part = "tools::process::tests::a_thread_that_spins_and_ends";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", part, "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let ended = output.any(|line| line.unwrap() == "ended");
        let used = Cpu::seconds_alone(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(ended);
        assert!(used >= SPUN.as_secs_f64(), "{used}");
    }

    #[test]
    fn time_that_goes_from_a_child_to_its_parent_counts_once() {
        let used = |[own, awaited]: [u64; 2], [own_before, awaited_before]: [u64; 2]| {
            let cpu = |own, awaited| Cpu {
                own,
                awaited,
                ticks: [0, 0],
            };
            cpu(own, awaited)
                .since(cpu(own_before, awaited_before))
                .seconds
        };
        let seconds = used([20_000_000, 53], [510_000_000, 0]);
        assert!((seconds - 0.04).abs() < 1e-9, "{seconds}");
        assert_eq!(used([0, 0], [1, 0]), 0.0);
    }
}
