//! System calls per message, one way: strace counts a run and one twice as long.

use std::io;

use super::side::Side;
use crate::peers::Found;
use crate::rigs::{lives, Bench, Taken};

/// A request is one message there and one back.
const MESSAGES: u64 = 2;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(1_500, 5_000);
    lives::calls(bench, count, MESSAGES, &|under, count| {
        Side::live(bench, peer, under, count)
    })
}
