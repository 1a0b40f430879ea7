//! Work on this machine that isn't the run's: what the hypervisor took, and what processes of others ran.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::machine::busy;
use super::process::{stat, tree, TICKS};
use crate::model::Foreign;

/// The share of one core that foreign work may take of a sample, or of the machine before a run.
const ALLOWED: f64 = 0.04;
/// How long a machine is watched before a run.
const WATCH: Duration = Duration::from_secs(3);
/// Processes that a refusal names.
const NAMED: usize = 4;

/// A reading of all that others have used so far, to measure from.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    steal: u64,
    /// The run's ancestors then. A shell that starts it in the background stops being one.
    ancestors: Vec<u32>,
    others: BTreeMap<u32, Process>,
}

/// A process of others: its name, and its ticks with those of children that it awaited.
#[derive(Clone, Debug)]
struct Process {
    name: String,
    parent: u32,
    session: u32,
    ticks: u64,
}

impl Watch {
    pub fn begin() -> io::Result<Watch> {
        let ancestors = ancestors();
        Ok(Watch {
            begun: Instant::now(),
            steal: busy(None)?.steal,
            others: others(&ancestors)?,
            ancestors,
        })
    }

    /// Seconds that others had since.
    pub fn end(&self) -> io::Result<Foreign> {
        let ticks = self.used()?.iter().map(|(_, ticks)| ticks).sum::<u64>();
        Ok(Foreign {
            steal: Some(busy(None)?.steal.saturating_sub(self.steal) as f64 / TICKS),
            others: Some(ticks as f64 / TICKS),
        })
    }

    /// Whether so much foreign work is more than a figure can bear. Ticks are coarse: fewer than three say nothing.
    pub fn is_dirty(&self, foreign: Foreign) -> bool {
        let seconds = foreign.steal.unwrap_or(0.0) + foreign.others.unwrap_or(0.0);
        seconds > (self.begun.elapsed().as_secs_f64() * ALLOWED).max(2.5 / TICKS)
    }

    /// What others used since, without descendants of the run whose parent has ended: they began since, in its session.
    fn used(&self) -> io::Result<Vec<(String, u64)>> {
        let own = stat(std::process::id()).map(|stat| stat.session);
        let mut now = others(&[&self.ancestors[..], &ancestors()[..]].concat())?;
        now.retain(|id, process| self.others.contains_key(id) || Some(process.session) != own);
        Ok(used(&self.others, now))
    }
}

/// The processes that ran between two readings, with their ticks, the busiest first.
///
/// What a process had used when it was seen first, and what awaited it has now, is from before.
fn used(before: &BTreeMap<u32, Process>, now: BTreeMap<u32, Process>) -> Vec<(String, u64)> {
    let mut known: BTreeMap<u32, u64> = before.iter().map(|(id, p)| (*id, p.ticks)).collect();
    for (id, ended) in before.iter().filter(|(id, _)| !now.contains_key(id)) {
        let mut heir = ended.parent;
        while let Some(process) = before.get(&heir).filter(|_| !now.contains_key(&heir)) {
            heir = process.parent;
        }
        *known.entry(heir).or_default() += before[id].ticks;
    }
    let since = now.into_iter().map(|(id, process)| {
        let before = known.get(&id).copied().unwrap_or(0);
        (process.name, process.ticks.saturating_sub(before))
    });
    let mut used: Vec<(String, u64)> = since.filter(|(_, ticks)| *ticks > 0).collect();
    used.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    used
}

/// Refuses a machine on which others work: its figures would be theirs too.
///
/// # Errors
/// Says how much, and which processes.
pub fn refuse() -> io::Result<()> {
    let watch = Watch::begin()?;
    thread::sleep(WATCH);
    let foreign = watch.end()?;
    if !watch.is_dirty(foreign) {
        return Ok(());
    }
    let percent = |seconds: Option<f64>| seconds.unwrap_or(0.0) / WATCH.as_secs_f64() * 100.0;
    let used = watch.used()?;
    let names: Vec<&str> = used
        .iter()
        .take(NAMED)
        .map(|(name, _)| name.as_str())
        .collect();
    Err(io::Error::other(format!(
        "other work takes {:.0} % of a core ({}) and the hypervisor {:.0} %, where {:.0} % together are allowed: stop it, \
         or run with --quick, whose figures are a smoke test",
        percent(foreign.others),
        names.join(", "),
        percent(foreign.steal),
        ALLOWED * 100.0
    )))
}

/// What awaits this process gets the times of its descendants that lost their parent.
fn ancestors() -> Vec<u32> {
    let mut ancestors = vec![1];
    let parent = |id| stat(id).map(|stat| stat.parent);
    let mut next = parent(std::process::id());
    while let Some(id) = next.filter(|id| *id > 1) {
        ancestors.push(id);
        next = parent(id);
    }
    ancestors
}

/// All processes but this one, those that it started and the kernel's threads: what ksoftirqd does is the traffic of the
/// run itself, and the busiest peer's most of all. Of this one's ancestors only their own time counts.
fn others(ancestors: &[u32]) -> io::Result<BTreeMap<u32, Process>> {
    let own = tree(std::process::id());
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One that has ended meanwhile is counted by what awaits it.
        let Some(stat) = stat(id).filter(|stat| !stat.is_kernels && !own.contains(&id)) else {
            continue;
        };
        let mut ticks = stat.own.iter().sum::<u64>();
        if !ancestors.contains(&id) {
            ticks += stat.awaited.iter().sum::<u64>();
        }
        let process = Process {
            name: stat.name,
            parent: stat.parent,
            session: stat.session,
            ticks,
        };
        all.insert(id, process);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ended_process_had_used_before_counts_for_no_process() {
        let process = |&(id, parent, ticks): &(u32, u32, u64)| {
            let (name, session) = (id.to_string(), 1);
            (
                id,
                Process {
                    name,
                    parent,
                    session,
                    ticks,
                },
            )
        };
        let all = |list: &[_]| list.iter().map(process).collect::<BTreeMap<_, _>>();
        // 4, a child of 3, and 3, a child of 2, end with 4 and 7 ticks more than they had; 5 is new.
        let before = all(&[(2, 1, 10), (3, 2, 100), (4, 3, 1000), (6, 1, 50)]);
        let now = all(&[(2, 1, 1121), (5, 2, 3), (6, 1, 50)]);
        let wanted = [("2".to_string(), 11), ("5".to_string(), 3)];
        assert_eq!(used(&before, now), wanted);
    }

    #[test]
    fn this_process_and_its_children_are_not_foreign_and_its_parent_is() {
        let mut child = std::process::Command::new("sleep")
            .arg("9")
            .spawn()
            .unwrap();
        let others = others(&ancestors()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!others.contains_key(&std::process::id()) && !others.contains_key(&child.id()));
        assert!(others.contains_key(&std::os::unix::process::parent_id()));
    }

    /// Regression: a shell that started the run in the background, and ended, handed what it had awaited, a build, to
    /// one that was no ancestor of the run any more.
    #[test]
    fn of_an_ancestor_only_its_own_time_counts() {
        // cargo, which has awaited rustc, or a shell. Without a build before, both are 0.
        let parent = std::os::unix::process::parent_id();
        let ticks = |ancestors: &[u32]| others(ancestors).unwrap()[&parent].ticks;
        let awaited = stat(parent).unwrap().awaited.iter().sum::<u64>();
        let difference = ticks(&[]).saturating_sub(ticks(&[parent]));
        assert!((awaited.saturating_sub(2)..=awaited).contains(&difference));
    }

    /// Regression: the children of socat, which end after it, counted as others: it had no sample.
    #[test]
    fn a_descendant_without_its_parent_is_not_foreign() {
        let watch = Watch::begin().unwrap();
        // A name that no other process has.
        let name = format!("spin-{}", std::process::id());
        let link = std::env::temp_dir().join(&name);
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        let spin = "(timeout 0.4 $0 -c 'while :; do :; done' &) ; exit";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", spin]).arg(&link).status().unwrap();
        thread::sleep(Duration::from_millis(300));
        let used = watch.used().unwrap();
        fs::remove_file(&link).unwrap();
        assert!(used.iter().all(|(other, _)| *other != name), "{used:?}");
    }

    #[test]
    fn three_ticks_are_the_least_that_makes_a_sample_dirty() {
        let watch = Watch::begin().unwrap();
        let foreign = |steal, others| Foreign {
            steal: Some(steal),
            others: Some(others),
        };
        let of = |steal, others| watch.is_dirty(foreign(steal, others));
        assert!(!of(0.01, 0.01) && of(0.02, 0.01));
        let begun = watch.begun - Duration::from_secs(10);
        let long = Watch { begun, ..watch };
        assert!(!long.is_dirty(foreign(0.2, 0.19)));
        assert!(long.is_dirty(foreign(0.2, 0.21)));
    }
}
