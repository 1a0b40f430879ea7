//! System calls per message, one way: strace counts a run and one twice as long.

use std::fs;
use std::io;

use super::side::Side;
use crate::peers::{Found, Under};
use crate::rigs::bench::{parts_of_difference, Bench, Taken};
use crate::tools::strace::{self, Calls};

/// A request is one message there and one back.
const MESSAGES: u64 = 2;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(1_500, 5_000);
    let once = run(bench, peer, count)?;
    let twice = run(bench, peer, 2 * count)?;
    let parts = parts_of_difference(&once, &twice, (count * MESSAGES) as f64);
    let (moving, other): (Vec<_>, Vec<_>) =
        parts.iter().partition(|p| strace::moves_bytes(&p.name));
    let sum =
        |parts: Vec<&crate::report::results::Part>| parts.iter().map(|p| p.value).sum::<f64>();
    let values = vec![("calls-io", sum(moving)), ("calls-other", sum(other))];
    Ok(Taken {
        values,
        parts: Some(("calls", parts)),
        notes: Vec::new(),
    })
}

fn run(bench: &Bench, peer: &Found, count: u64) -> io::Result<Calls> {
    let out = bench.folder.join("strace.out");
    let side = Side::start_under(bench, peer, &Under::Strace(out.clone()), false)?;
    side.carry(count, bench)?;
    side.relay.end()?;
    let calls = strace::parse(&fs::read_to_string(&out)?);
    fs::remove_file(&out)?;
    if calls.is_empty() {
        return Err(io::Error::other("strace counted nothing"));
    }
    Ok(calls)
}
