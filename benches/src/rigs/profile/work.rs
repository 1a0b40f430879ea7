//! Programs that do their work by themselves and end: under callgrind for the instructions, which the same runs print
//! the allocations of.

use std::cell::RefCell;
use std::io;

use super::profile;
use crate::measure::{Bench, Taken};
use crate::peers::{running, Found, Under};
use crate::tools::program::output;

/// Asks the program for that work.
pub fn take(bench: &Bench, peer: &Found, work: &str) -> io::Result<Taken> {
    // A multiple of the chains' depth.
    let count = bench.either(2_000, 20_000);
    let printed = RefCell::new(Vec::new());
    let mut taken = profile(bench, count, &|under, count| {
        let allocations = run(peer, under, work, count)?;
        printed.borrow_mut().push(allocations);
        Ok(())
    })?;
    // The program's own count is the figure; callgrind's must agree, as it counts for programs that we can't alter.
    let [once, twice] = printed.into_inner()[..] else {
        return Err(io::Error::other("two lives make two counts"));
    };
    let own = (twice as f64 - once as f64) / count as f64;
    let counted = taken.values[1].replace(own).unwrap_or_default();
    if (counted - own).abs() > 0.005 {
        bench.note(format!(
            "callgrind counts {counted:.2} allocations, the program {own:.2}"
        ));
    }
    Ok(taken)
}

/// The allocations that a run printed.
fn run(peer: &Found, under: &Under, work: &str, count: u64) -> io::Result<u64> {
    let binary = peer.binary.to_string_lossy();
    let start = peer
        .spec
        .start
        .iter()
        .map(|word| word.replace("{binary}", &binary));
    let words = start.chain([work.to_string(), count.to_string()]);
    let said = output(&mut running::command(under, words), "valgrind")?;
    allocations(&said).ok_or_else(|| io::Error::other("it names no allocations"))
}

fn allocations(output: &str) -> Option<u64> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("allocations ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_count_and_nothing_else() {
        assert_eq!(allocations("hello\nallocations 12\n"), Some(12));
        assert_eq!(allocations("allocations many\n"), None);
    }
}
