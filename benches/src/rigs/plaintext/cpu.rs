//! CPU per request and requests per second in a closed loop, by depth and connections, in the clear and over TLS.

use std::io;
use std::time::Duration;

use super::CONNECTIONS;
use crate::load::channel::Security;
use crate::load::driver::Driver;
use crate::load::gets::Gets;
use crate::load::pace::{Pace, Until};
use crate::load::wrk::{wrk, Ask};
use crate::peers::{Found, Setup, Under};
use crate::rigs::{certificate, Bench, Taken};
use crate::tools::process::Cpu;

/// What a compiler needs that has nothing to learn.
const WARM_UP: Duration = Duration::from_millis(200);

/// What is asked of a server: the names of the figures, connections, requests at once on each.
struct Load([&'static str; 2], usize, u64);

const DEPTH1: Load = Load(["cpu-d1", "requests-d1"], CONNECTIONS, 1);
const DEPTH16: Load = Load(["cpu-d16", "requests-d16"], CONNECTIONS, 16);
const DEPTH32: Load = Load(["cpu-d32", "requests-d32"], CONNECTIONS, 32);
const C1024: Load = Load(["cpu-c1024", "requests-c1024"], 1024, 16);

pub fn depth1(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear, DEPTH1)
}

pub fn depth16(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear, DEPTH16)
}

pub fn depth32(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear, DEPTH32)
}

pub fn c1024(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear, C1024)
}

pub fn tls_depth1(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    certificate::lay(&bench.folder, "server")?;
    sample(bench, peer, &Security::tls()?, DEPTH1)
}

pub fn tls_depth16(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    certificate::lay(&bench.folder, "server")?;
    sample(bench, peer, &Security::tls()?, DEPTH16)
}

fn sample(
    bench: &Bench,
    peer: &Found,
    security: &Security,
    Load([cpu, requests], connections, depth): Load,
) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let load = Driver::new(
        server.listen,
        connections,
        Gets::plaintext(server.listen, depth),
    )?;
    let mut load = load.over(security).connect()?;
    let warm_up = Until::Elapsed(warm_up(bench, peer));
    load.run(Pace::Closed, warm_up, &bench.stop)?;
    let time = Until::Elapsed(Duration::from_millis(bench.either(300, 500)));
    let (ran, used) = Cpu::during(server.id, || load.run(Pace::Closed, time, &bench.stop))?;
    // The server ends first: the closing states that linger are then its port's, which is new with each sample.
    drop(server);
    let mut values = vec![(cpu, used.each(ran.count))];
    // Compilers and collectors of rubbish have threads of their own, which one core holds up.
    if peer.spec.warm_up.is_none() {
        values.push((requests, ran.rate()));
    }
    Ok(Taken::values(values))
}

/// The figure of one request at a time, by another load generator.
pub fn by_wrk(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let run = || wrk(server.listen, CONNECTIONS, Ask::Get("http", "/plaintext"));
    for _ in 0..peer
        .spec
        .warm_up
        .map_or(0, |_| warm_up(bench, peer).as_secs())
    {
        bench.stop.check()?;
        run()?;
    }
    let (said, used) = Cpu::during(server.id, run)?;
    let mut values = vec![("wrk-cpu-d1", used.each(said.count))];
    if peer.spec.warm_up.is_none() {
        values.push(("wrk-requests-d1", said.rate));
    }
    Ok(Taken::values(values))
}

fn warm_up(bench: &Bench, peer: &Found) -> Duration {
    match peer.spec.warm_up {
        Some(seconds) => Duration::from_secs(bench.either(seconds.min(2), seconds)),
        None => WARM_UP,
    }
}
