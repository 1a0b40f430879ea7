//! The samples: a message is once there and once back.

use std::io;

use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::load::wrk::{wrk, Ask};
use crate::measure::{per_unit, Bench, Taken};
use crate::peers::{Found, Setup, Under};

/// Bytes of a message, as in the comparisons of the time.
const SIZE: usize = 100;

/// CPU per message and messages per second.
pub fn closed_loop(
    bench: &Bench,
    peer: &Found,
    connections: usize,
    threads: usize,
) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(threads), &Under::Nothing)?;
    let mut load = Driver::new(server.listen, connections, Echo::to_server(SIZE))?.connect()?;
    let times = [200, bench.either(300, 600)];
    let (ran, used) = bench.run(&mut load, Pace::Closed, times, server.id)?;
    // The server ends first: the closing states that linger are then its port's, which is new with each sample.
    drop(server);
    Ok(Taken::of([used.each(ran.count), ran.rate()]))
}

pub fn ten_thousand(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    // A connection takes one descriptor on each side.
    let connections = bench.fitting(bench.either(1_000, 10_000), 1, None);
    closed_loop(bench, peer, connections, 1)
}

/// The figures of a hundred connections.
pub fn by_wrk(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let ask = Ask::Echo(SIZE, &bench.folder);
    let (said, used) = bench.during(server.id, || wrk(server.listen, 100, ask))?;
    Ok(Taken::of([used.each(said.count), said.rate]))
}

pub fn instructions(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let life = |under: &Under, count| live(bench, peer, under, count);
    per_unit::instructions(bench, bench.either(2_000, 10_000), &life)
}

pub fn calls(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let life = |under: &Under, count| live(bench, peer, under, count);
    per_unit::calls(bench, bench.either(2_000, 10_000), 1, &life)
}

fn live(bench: &Bench, peer: &Found, under: &Under, count: u64) -> io::Result<()> {
    let server = bench.start(peer, Setup::serving(1), under)?;
    per_unit::live(bench, server, |listen| {
        let mut load = Driver::new(listen, 100, Echo::to_server(SIZE))?.connect()?;
        load.run(Pace::Closed, Until::Sent(count), &bench.stop)
    })
}
