//! What a unit of work costs by a tool that counts whole lives: a peer lives once with a number of units and once with
//! twice as many. The difference is free of its start, its connections and its end.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::bench::{parts_of_difference, Bench, Taken};
use crate::peers::Under;
use crate::report::results::Part;
use crate::stop::Stop;
use crate::tools::callgrind::{self, Counted};
use crate::tools::process::census;
use crate::tools::strace::{self, Calls};

/// Starts the peer under the tool, gives it that many units of work, and ends it.
pub type Life<'a> = &'a dyn Fn(&Under, u64) -> io::Result<()>;

/// Functions that the results keep.
const KEPT: usize = 40;
/// Processes under callgrind write their files as they end, and that takes a while.
const CLOSES_WITHIN: Duration = Duration::from_secs(15);
/// Nothing more is opened at a start when nothing was for so long.
const SETTLES: Duration = Duration::from_millis(500);

/// User instructions per unit as the first figure, also by function, and allocations as the second.
pub fn instructions(
    bench: &Bench,
    [figure, allocations]: [&'static str; 2],
    count: u64,
    life: Life,
) -> io::Result<Taken> {
    let mut each = each(bench, count, life)?;
    each.functions.truncate(KEPT);
    Ok(Taken {
        values: vec![(figure, each.instructions), (allocations, each.allocations)],
        parts: Some((figure, each.functions)),
        notes: Vec::new(),
    })
}

/// What callgrind says of a unit of work.
#[derive(Clone, Debug)]
pub struct Each {
    pub instructions: f64,
    /// Calls of the C library's allocator.
    pub allocations: f64,
    /// Instructions by function, the dearest first.
    pub functions: Vec<Part>,
}

pub fn each(bench: &Bench, count: u64, life: Life) -> io::Result<Each> {
    let once = under_callgrind(bench, count, life)?;
    let twice = under_callgrind(bench, 2 * count, life)?;
    let instructions = |counted: &Counted| counted.costs.values().sum::<u64>() as f64;
    let allocations = |counted: &Counted| counted.allocations() as f64;
    let units = count as f64;
    Ok(Each {
        instructions: (instructions(&twice) - instructions(&once)) / units,
        allocations: (allocations(&twice) - allocations(&once)) / units,
        functions: parts_of_difference(&once.costs, &twice.costs, units),
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

/// System calls per message as `calls-io` and `calls-other`; a unit of work is `messages` of them.
pub fn calls(bench: &Bench, count: u64, messages: u64, life: Life) -> io::Result<Taken> {
    let once = counted(bench, count, life)?;
    let twice = counted(bench, 2 * count, life)?;
    let parts = parts_of_difference(&once, &twice, (count * messages) as f64);
    let (moving, other): (Vec<&Part>, Vec<&Part>) =
        parts.iter().partition(|p| strace::moves_bytes(&p.name));
    let sum = |parts: Vec<&Part>| parts.iter().map(|p| p.value).sum::<f64>();
    let values = vec![("calls-io", sum(moving)), ("calls-other", sum(other))];
    Ok(Taken {
        values,
        parts: Some(("calls", parts)),
        notes: Vec::new(),
    })
}

fn counted(bench: &Bench, count: u64, life: Life) -> io::Result<Calls> {
    let out = bench.folder.join("strace.out");
    life(&Under::Strace(out.clone()), count)?;
    let calls = strace::parse(&fs::read_to_string(&out)?);
    fs::remove_file(&out)?;
    if calls.is_empty() {
        return Err(io::Error::other("strace counted nothing"));
    }
    Ok(calls)
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

/// Runs `work`, which opens connections and closes them, and waits until the process has closed its ends too: each life
/// must see the same end.
///
/// One that doesn't is ended all the same, with a note: its end may be in the count.
pub fn until_closed(
    id: u32,
    bench: &Bench,
    work: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let before = settled(id, &bench.stop)?;
    work()?;
    let begun = Instant::now();
    loop {
        let now = census(id);
        if now.0 <= before.0 && now.1 <= before.1 {
            return Ok(());
        }
        if begun.elapsed() > CLOSES_WITHIN {
            bench.note(format!(
                "its count may hold a part of its end: {} s after the last connection it had {} processes and {} \
                 sockets, {} and {} before the first",
                CLOSES_WITHIN.as_secs(),
                now.0,
                now.1,
                before.0,
                before.1
            ));
            return Ok(());
        }
        bench.stop.check()?;
        thread::sleep(Duration::from_millis(20));
    }
}
