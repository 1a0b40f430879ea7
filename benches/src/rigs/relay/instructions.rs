//! User instructions, by function, and allocations per small request: callgrind counts a run and one twice as long.

use std::io;

use super::side::Side;
use crate::peers::Found;
use crate::rigs::{lives, Bench, Taken};

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(1_000, 5_000);
    lives::instructions(
        bench,
        ["instructions", "allocations"],
        count,
        &|under, count| Side::live(bench, peer, under, count),
    )
}
