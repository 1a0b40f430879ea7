//! The samples: a fresh relay in front of a fresh server, with more and more tunnels.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::kernel::{no_distance, slab};
use crate::load::driver::{Driver, Ran};
use crate::load::echo::{Echo, THROUGH_RELAY};
use crate::load::pace::{Pace, Until};
use crate::load::server::Server;
use crate::peers::{Found, Kind, Running, Setup, Under};
use crate::rigs::{Bench, Taken};
use crate::tools::process::{Cpu, Held, Used};

/// Tunnels of each step; the last has fewer in a quick run, or where a process may have fewer descriptors.
const STEPS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Requests a second, the same for all peers and steps: CPU per request depends on how busy a relay is.
const PACE: Pace = Pace::Open { rate: 20_000.0 };
/// Tunnels that are active where few are.
const FEW: usize = 10;
/// Descriptors that a process needs beside those of its tunnels.
const SPARE: usize = 200;
const WARM_UP: Until = Until::Elapsed(Duration::from_millis(200));
/// Time for a relay and the kernel to let go of what they hold.
const SETTLE: Duration = Duration::from_millis(500);

type Values = Vec<(&'static str, f64)>;

/// Every tunnel has its turn.
pub fn active(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    const FIGURES: [[&str; 3]; 4] = [
        ["cpu-10", "p50-10", "p99-10"],
        ["cpu-100", "p50-100", "p99-100"],
        ["cpu-1000", "p50-1000", "p99-1000"],
        ["cpu-10000", "p50-10000", "p99-10000"],
    ];
    let (server, relay) = side(bench, peer, 1)?;
    let mut values = Values::new();
    let mut cpu = Vec::new();
    for ([each, p50, p99], count) in FIGURES.into_iter().zip(steps(bench, peer)) {
        let mut load = tunnels(relay.listen, count, bench)?;
        let (ran, used) = paced(&mut load, &relay, bench)?;
        cpu.push(used.each(ran.count));
        values.extend([
            (each, used.each(ran.count)),
            (p50, ran.latency(0.5)),
            (p99, ran.latency(0.99)),
        ]);
        drop(load);
        // The next ones and these need more descriptors than a process may have.
        thread::sleep(SETTLE);
    }
    values.push(("growth", cpu[3] / cpu[1]));
    drop((relay, server));
    // Once a run is enough.
    let is_noted = peer.spec.kind == Kind::Subject;
    Ok(Taken {
        notes: is_noted
            .then(|| no_distance().to_string())
            .into_iter()
            .collect(),
        ..Taken::values(values)
    })
}

/// Ten tunnels are active, the others rest.
pub fn few_active(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    const FIGURES: [[&str; 2]; 4] = [
        ["few-cpu-10", "few-p99-10"],
        ["few-cpu-100", "few-p99-100"],
        ["few-cpu-1000", "few-p99-1000"],
        ["few-cpu-10000", "few-p99-10000"],
    ];
    let (server, relay) = side(bench, peer, 1)?;
    let mut load = tunnels(relay.listen, FEW, bench)?;
    let mut values = Values::new();
    let (mut resting, mut open) = (Vec::new(), FEW);
    for ([each, p99], count) in FIGURES.into_iter().zip(steps(bench, peer)) {
        resting.push(tunnels(relay.listen, count - open, bench)?);
        open = count;
        let (ran, used) = paced(&mut load, &relay, bench)?;
        values.extend([(each, used.each(ran.count)), (p99, ran.latency(0.99))]);
    }
    drop((relay, server));
    Ok(Taken::values(values))
}

/// Tunnels that carried one message each and rest. The kernel's part is the relay's alone: what the same number of
/// connections without a relay takes is subtracted.
pub fn memory(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let (server, relay) = side(bench, peer, 1)?;
    thread::sleep(SETTLE);
    let [_, _, few, many] = steps(bench, peer);
    let mut values = Values::new();
    let (mut resting, mut open) = (Vec::new(), 0);
    let (mut direct, mut both, empty) = (0.0, 0.0, Held::of(relay.id)?.kib as f64);
    let steps = [
        (few, "memory-1000", "kernel-1000"),
        (many, "memory-10000", "kernel-10000"),
    ];
    for (count, process, kernel) in steps {
        for (to, sum) in [(server.address, &mut direct), (relay.listen, &mut both)] {
            let before = slab()? as f64;
            resting.push(tunnels(to, count - open, bench)?);
            thread::sleep(SETTLE);
            *sum += slab()? as f64 - before;
        }
        open = count;
        let held = Held::of(relay.id)?.kib as f64 - empty;
        values.push((process, held / count as f64));
        values.push((kernel, (both - direct) / count as f64));
    }
    drop((relay, server));
    Ok(Taken::values(values))
}

/// One thread on its own core, and two on both cores, one of which the load and the server have too.
pub fn threads(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let mut values = Values::new();
    let mut rates = Vec::new();
    for (threads, each, requests) in [(1, "cpu-t1", "requests-t1"), (2, "cpu-t2", "requests-t2")] {
        let (server, relay) = side(bench, peer, threads)?;
        let mut load = tunnels(relay.listen, 100, bench)?;
        load.run(Pace::Closed, WARM_UP, &bench.stop)?;
        let time = Until::Elapsed(Duration::from_millis(bench.either(300, 500)));
        let (ran, used) = Cpu::during(relay.id, || load.run(Pace::Closed, time, &bench.stop))?;
        rates.push(ran.rate());
        values.extend([(each, used.each(ran.count)), (requests, ran.rate())]);
        drop((relay, server));
    }
    values.push(("threads", rates[1] / rates[0]));
    Ok(Taken::values(values))
}

/// The relay ends first.
fn side(bench: &Bench, peer: &Found, threads: usize) -> io::Result<(Server, Running)> {
    let server = Server::start(false)?;
    let setup = Setup {
        threads,
        ..Setup::relaying_to(server.address)
    };
    let relay = bench.start(peer, setup, &Under::Nothing)?;
    Ok((server, relay))
}

/// Tunnels, or connections to the server itself, each of which has carried a message.
fn tunnels(to: SocketAddr, count: usize, bench: &Bench) -> io::Result<Driver<Echo>> {
    let mut load = Driver::new(to, count, Echo::through_relay(THROUGH_RELAY))?.connect()?;
    load.run(Pace::Closed, Until::Sent(count as u64), &bench.stop)?;
    Ok(load)
}

fn paced(load: &mut Driver<Echo>, relay: &Running, bench: &Bench) -> io::Result<(Ran, Used)> {
    load.run(PACE, WARM_UP, &bench.stop)?;
    let time = Until::Elapsed(Duration::from_millis(bench.either(300, 500)));
    Cpu::during(relay.id, || load.run(PACE, time, &bench.stop))
}

fn steps(bench: &Bench, peer: &Found) -> [usize; 4] {
    let [ten, hundred, thousand, many] = STEPS;
    let own = peer.spec.most_tunnels.unwrap_or(usize::MAX);
    let many = bench.either(thousand, many);
    [
        ten,
        hundred,
        thousand,
        many.min(own).min(fitting(bench.descriptors)).max(thousand),
    ]
}

/// A tunnel takes two descriptors of the relay, and two of the load and the server where both kinds are open.
fn fitting(descriptors: u64) -> usize {
    (descriptors as usize).saturating_sub(SPARE) / 2
}
