//! Programs that do their work by themselves and end: under callgrind for the instructions, which the same runs print
//! the allocations of.

use std::cell::RefCell;
use std::io;
use std::process::Stdio;

use super::profile;
use crate::peers::{running, Found, Under};
use crate::rigs::{Bench, Taken};

pub fn message(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    work(bench, peer, "messages", ["message", "message-allocations"])
}

pub fn connection(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    work(
        bench,
        peer,
        "connections",
        ["connection", "connection-allocations"],
    )
}

pub fn combinator(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    work(
        bench,
        peer,
        "combinators",
        ["combinator", "combinator-allocations"],
    )
}

pub fn task(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    work(bench, peer, "tasks", ["task", "task-allocations"])
}

pub fn wait(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    work(bench, peer, "waits", ["wait", "wait-allocations"])
}

fn work(bench: &Bench, peer: &Found, what: &str, figures: [&'static str; 2]) -> io::Result<Taken> {
    // A multiple of the chains' depth.
    let count = bench.either(2_000, 20_000);
    let printed = RefCell::new(Vec::new());
    let mut taken = profile(bench, figures, count, &|under, count| {
        let allocations = run(peer, under, what, count)?;
        printed.borrow_mut().push(allocations);
        Ok(())
    })?;
    // The program's own count is the figure; callgrind's must agree, as it counts for programs that we can't alter.
    let [once, twice] = printed.into_inner()[..] else {
        return Err(io::Error::other("two lives make two counts"));
    };
    let own = (twice as f64 - once as f64) / count as f64;
    for (_, value) in taken
        .values
        .iter_mut()
        .filter(|(name, _)| *name == figures[1])
    {
        if (*value - own).abs() > 0.005 {
            let text = format!(
                "{}: callgrind counts {value:.2}, the program {own:.2}",
                figures[1]
            );
            taken.notes.push(text);
        }
        *value = own;
    }
    Ok(taken)
}

/// The allocations that a run printed.
fn run(peer: &Found, under: &Under, what: &str, count: u64) -> io::Result<u64> {
    let binary = peer.binary.to_string_lossy();
    let start = peer
        .spec
        .start
        .iter()
        .map(|word| word.replace("{binary}", &binary));
    let words: Vec<String> = start.chain([what.to_string(), count.to_string()]).collect();
    let output = running::command(under, &words)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let last = why.lines().next_back().unwrap_or_default().to_string();
        return Err(io::Error::other(format!(
            "it ended: {}: {last}",
            output.status
        )));
    }
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
