//! User instructions per request, by function, of the Rust peers.

use std::io;

use crate::load::driver::Driver;
use crate::load::gets::Gets;
use crate::load::pace::{Pace, Until};
use crate::peers::{Found, Setup, Under};
use crate::rigs::{lives, Bench, Taken};

/// Fewer than elsewhere: more would only make the server's life longer.
const CONNECTIONS: usize = 64;

pub fn depth1(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(3_000, 10_000);
    lives::instructions(
        bench,
        ["instructions-d1", "allocations-d1"],
        count,
        &|under, count| live(bench, peer, under, count, 1),
    )
}

pub fn depth16(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(16_384, 65_536);
    lives::instructions(
        bench,
        ["instructions-d16", "allocations-d16"],
        count,
        &|under, count| live(bench, peer, under, count, 16),
    )
}

fn live(bench: &Bench, peer: &Found, under: &Under, count: u64, depth: u64) -> io::Result<()> {
    let server = bench.start(peer, Setup::serving(1), under)?;
    lives::until_closed(server.id, bench, || {
        let gets = Gets::plaintext(server.listen, depth);
        let mut load = Driver::new(server.listen, CONNECTIONS, gets)?.connect()?;
        load.run(Pace::Closed, Until::Sent(count), &bench.stop)
            .map(drop)
    })?;
    server.end()
}
