//! What a unit of work costs by a tool that counts whole lives: a peer lives once with a number of units and once with
//! twice as many. The difference is free of its start, its connections and its end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use super::bench::{Bench, Taken};
use crate::model::Part;
use crate::peers::{Running, Under};
use crate::stop::Stop;
use crate::tools::callgrind::{self, Counted};
use crate::tools::process::census;
use crate::tools::strace::{self, Calls};

/// Starts the peer under the tool, gives it that many units of work, and ends it.
pub type Life<'a> = &'a dyn Fn(&Under, u64) -> io::Result<()>;

/// Processes under callgrind write their files as they end, and that takes a while.
const CLOSES_WITHIN: Duration = Duration::from_secs(15);
/// Nothing more is opened at a start when nothing was for so long.
const SETTLES: Duration = Duration::from_millis(500);

/// User instructions per unit, also by function, and calls of the C library's allocator.
pub fn instructions(bench: &Bench, count: u64, life: Life) -> io::Result<Taken> {
    let once = under_callgrind(bench, count, life)?;
    let twice = under_callgrind(bench, 2 * count, life)?;
    let each = |of: fn(&Counted) -> u64| (of(&twice) as f64 - of(&once) as f64) / count as f64;
    Ok(Taken {
        parts: parts_of_difference(&once.costs, &twice.costs, count as f64),
        ..Taken::of([each(|c| c.costs.values().sum()), each(Counted::allocations)])
    })
}

/// A life; processes of one peer are summed up.
fn under_callgrind(bench: &Bench, count: u64, life: Life) -> io::Result<Counted> {
    let folder = bench.folder.join("callgrind");
    fs::create_dir_all(&folder)?;
    life(&Under::Callgrind(folder.join("out")), count)?;
    let mut counted = Counted::default();
    for entry in fs::read_dir(&folder)? {
        counted.add(callgrind::parse(&fs::read_to_string(entry?.path())?));
    }
    fs::remove_dir_all(&folder)?;
    if counted.costs.is_empty() {
        return Err(io::Error::other("callgrind wrote nothing"));
    }
    Ok(counted)
}

/// System calls per message, those that move bytes and the others; a unit of work is `messages` of them.
pub fn calls(bench: &Bench, count: u64, messages: u64, life: Life) -> io::Result<Taken> {
    let once = under_strace(bench, count, life)?;
    let twice = under_strace(bench, 2 * count, life)?;
    let parts = parts_of_difference(&once, &twice, (count * messages) as f64);
    let sum = |moving| {
        let of_it = |p: &&Part| strace::moves_bytes(&p.name) == moving;
        parts.iter().filter(of_it).map(|p| p.value).sum::<f64>()
    };
    let values = [sum(true), sum(false)];
    Ok(Taken {
        parts,
        ..Taken::of(values)
    })
}

fn under_strace(bench: &Bench, count: u64, life: Life) -> io::Result<Calls> {
    let out = bench.folder.join("strace.out");
    life(&Under::Strace(out.clone()), count)?;
    let calls = strace::parse(&fs::read_to_string(&out)?);
    fs::remove_file(&out)?;
    if calls.is_empty() {
        return Err(io::Error::other("strace counted nothing"));
    }
    Ok(calls)
}

/// The parts of a figure per unit of work, from counts of a run and of one twice as long: the dearest first.
fn parts_of_difference(
    once: &BTreeMap<String, u64>,
    twice: &BTreeMap<String, u64>,
    units: f64,
) -> Vec<Part> {
    let part = |(name, &count): (&String, &u64)| {
        let before = once.get(name).copied().unwrap_or(0);
        Part::new(name, (count as f64 - before as f64) / units)
    };
    let mut parts: Vec<Part> = twice.iter().map(part).filter(|p| p.value > 0.0).collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    parts
}

/// Runs `work`, which opens connections to the peer and closes them, waits until the peer has closed its ends too, and ends
/// it: each life must see the same end.
///
/// One that doesn't close them is ended all the same, with a note: its end may be in the count.
///
/// # Errors
/// Those of the work, and of a peer that doesn't end.
pub fn live<T>(
    bench: &Bench,
    peer: Running,
    work: impl FnOnce(SocketAddr) -> io::Result<T>,
) -> io::Result<()> {
    let (processes, sockets) = settled(peer.id, &bench.stop)?;
    work(peer.listen)?;
    let begun = Instant::now();
    loop {
        let now = census(peer.id);
        if now.0 <= processes && now.1 <= sockets {
            break;
        }
        if begun.elapsed() > CLOSES_WITHIN {
            bench.note(format!(
                "its count may hold a part of its end: {} s after the last connection it had {} processes and {} \
                 sockets, {processes} and {sockets} before the first",
                CLOSES_WITHIN.as_secs(),
                now.0,
                now.1,
            ));
            break;
        }
        bench.stop.check()?;
        thread::sleep(Duration::from_millis(20));
    }
    peer.end()
}

/// What a process has when it has started: it may listen before it has all, and a tool makes it slow.
fn settled(id: u32, stop: &Stop) -> io::Result<(usize, usize)> {
    let begun = Instant::now();
    let (mut last, mut since) = (census(id), begun);
    while since.elapsed() < SETTLES && begun.elapsed() < CLOSES_WITHIN {
        stop.check()?;
        thread::sleep(Duration::from_millis(20));
        let now = census(id);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_the_longer_run_adds() {
        let counts =
            |entries: &[(&str, u64)]| entries.iter().map(|&(n, c)| (n.to_string(), c)).collect();
        let once = counts(&[("start", 900), ("poll", 150), ("recv", 100)]);
        let twice = counts(&[("start", 900), ("poll", 250), ("recv", 300), ("new", 50)]);
        let parts = parts_of_difference(&once, &twice, 100.0);
        let wanted = [("recv", 2.0), ("poll", 1.0), ("new", 0.5)];
        assert_eq!(parts, wanted.map(|(name, value)| Part::new(name, value)));
    }
}
