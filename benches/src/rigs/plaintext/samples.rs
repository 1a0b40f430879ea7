//! CPU per request and requests per second in a closed loop, by depth and connections, in the clear and over TLS; and what
//! callgrind counts of the Rust peers.

use std::io;
use std::time::Duration;

use super::CONNECTIONS;
use crate::load::channel::Security;
use crate::load::driver::Driver;
use crate::load::gets::Gets;
use crate::load::pace::{Pace, Until};
use crate::load::wrk::{wrk, Ask};
use crate::measure::{certificate, per_unit, Bench, Taken};
use crate::peers::{Found, Setup, Under};

/// Milliseconds that a compiler needs that has nothing to learn.
const WARM_UP: u64 = 200;
/// Connections under callgrind: more would only make the server's life longer.
const COUNTED: usize = 64;

/// `depth` requests at once on each connection.
pub fn in_the_clear(
    bench: &Bench,
    peer: &Found,
    connections: usize,
    depth: u64,
) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear, connections, depth)
}

pub fn over_tls(bench: &Bench, peer: &Found, depth: u64) -> io::Result<Taken> {
    certificate::lay(&bench.folder, "server")?;
    sample(bench, peer, &Security::tls()?, CONNECTIONS, depth)
}

fn sample(
    bench: &Bench,
    peer: &Found,
    security: &Security,
    connections: usize,
    depth: u64,
) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let gets = Gets::plaintext(server.listen, depth);
    let load = Driver::new(server.listen, connections, gets)?;
    let mut load = load.over(security).connect()?;
    let times = [warm_up(bench, peer), bench.either(300, 500)];
    let (ran, used) = bench.run(&mut load, Pace::Closed, times, server.id)?;
    // The server ends first: the closing states that linger are then its port's, which is new with each sample.
    drop(server);
    Ok(taken(peer, used.each(ran.count), ran.rate()))
}

/// The figure of one request at a time, by another load generator.
pub fn by_wrk(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let run = || wrk(server.listen, CONNECTIONS, Ask::Get("http", "/plaintext"));
    for _ in 0..Duration::from_millis(warm_up(bench, peer)).as_secs() {
        bench.stop.check()?;
        run()?;
    }
    let (said, used) = bench.during(server.id, run)?;
    Ok(taken(peer, used.each(said.count), said.rate))
}

/// Compilers and collectors of rubbish have separate threads, which one core holds up: then there is no rate.
fn taken(peer: &Found, cpu: f64, rate: f64) -> Taken {
    let rate = Some(rate).filter(|_| peer.spec.warm_up.is_none());
    Taken::of([Some(cpu), rate])
}

fn warm_up(bench: &Bench, peer: &Found) -> u64 {
    let learning = |seconds: u64| 1_000 * bench.either(seconds.min(2), seconds);
    peer.spec.warm_up.map_or(WARM_UP, learning)
}

pub fn instructions(bench: &Bench, peer: &Found, count: u64, depth: u64) -> io::Result<Taken> {
    per_unit::instructions(bench, count, &|under, count| {
        let server = bench.start(peer, Setup::serving(1), under)?;
        per_unit::live(bench, server, |listen| {
            let gets = Gets::plaintext(listen, depth);
            let mut load = Driver::new(listen, COUNTED, gets)?.connect()?;
            load.run(Pace::Closed, Until::Sent(count), &bench.stop)
        })
    })
}
