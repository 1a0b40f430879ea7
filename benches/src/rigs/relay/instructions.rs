//! User instructions per small request, by function: callgrind counts a run and one twice as long.

use std::fs;
use std::io;

use super::side::Side;
use crate::peers::{Found, Under};
use crate::rigs::bench::{parts_of_difference, Bench, Taken};
use crate::tools::callgrind::{self, Costs};

/// Functions that the results keep.
const KEPT: usize = 40;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(1_000, 5_000);
    let once = run(bench, peer, count)?;
    let twice = run(bench, peer, 2 * count)?;
    let sum = |costs: &Costs| costs.values().sum::<u64>() as f64;
    let each = (sum(&twice) - sum(&once)) / count as f64;
    let mut parts = parts_of_difference(&once, &twice, count as f64);
    parts.truncate(KEPT);
    let values = vec![("instructions", each)];
    Ok(Taken {
        values,
        parts: Some(("instructions", parts)),
        notes: Vec::new(),
    })
}

/// The instructions of a whole life with that many requests; processes of one relay are summed up.
fn run(bench: &Bench, peer: &Found, count: u64) -> io::Result<Costs> {
    let folder = bench.folder.join("callgrind");
    fs::create_dir_all(&folder)?;
    let side = Side::start_under(bench, peer, &Under::Callgrind(folder.join("out")), false)?;
    side.carry(count, bench)?;
    side.relay.end()?;
    let mut costs = Costs::new();
    for entry in fs::read_dir(&folder)? {
        let text = fs::read_to_string(entry?.path())?;
        for (name, cost) in callgrind::parse(&text) {
            *costs
                .entry(callgrind::plain(&name).to_string())
                .or_default() += cost;
        }
    }
    fs::remove_dir_all(&folder)?;
    if costs.is_empty() {
        return Err(io::Error::other("callgrind wrote nothing"));
    }
    Ok(costs)
}
