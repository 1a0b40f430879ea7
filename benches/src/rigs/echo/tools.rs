//! User instructions and system calls per message: a message is once there and once back.

use std::io;

use super::SIZE;
use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::peers::{Found, Setup, Under};
use crate::rigs::{lives, Bench, Taken};

const CONNECTIONS: usize = 100;

pub fn instructions(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(2_000, 10_000);
    lives::instructions(
        bench,
        ["instructions", "allocations"],
        count,
        &|under, count| live(bench, peer, under, count),
    )
}

pub fn calls(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.either(2_000, 10_000);
    lives::calls(bench, count, 1, &|under, count| {
        live(bench, peer, under, count)
    })
}

fn live(bench: &Bench, peer: &Found, under: &Under, count: u64) -> io::Result<()> {
    let server = bench.start(peer, Setup::serving(1), under)?;
    lives::until_closed(server.id, bench, || {
        let mut load = Driver::new(server.listen, CONNECTIONS, Echo::to_server(SIZE))?.connect()?;
        load.run(Pace::Closed, Until::Sent(count), &bench.stop)
            .map(drop)
    })?;
    server.end()
}
