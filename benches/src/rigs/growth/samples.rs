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
use crate::measure::side::Side;
use crate::measure::{Bench, Taken};
use crate::model::Kind;
use crate::peers::Found;
use crate::tools::process::{Held, Used};

/// Requests a second, the same for all peers and steps: CPU per request depends on how busy a relay is.
const PACE: Pace = Pace::Open { rate: 20_000.0 };
/// Tunnels that are active where few are.
const FEW: usize = 10;
/// Time for a relay and the kernel to let go of what they hold.
const SETTLE: Duration = Duration::from_millis(500);

/// Every tunnel has its turn.
pub fn active(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let [mut cpu, mut p50, mut p99] = [(); 3].map(|()| Vec::new());
    for count in steps(bench, peer) {
        let mut load = tunnels(side.relay.listen, count, bench)?;
        let (ran, used) = paced(&mut load, &side, bench)?;
        cpu.push(used.each(ran.count));
        p50.push(ran.latency(0.5));
        p99.push(ran.latency(0.99));
        drop(load);
        // The next ones and these need more descriptors than a process may have.
        thread::sleep(SETTLE);
    }
    // Once a run is enough.
    if peer.spec.kind == Kind::Subject {
        bench.note(no_distance().to_string());
    }
    let growth = cpu[3] / cpu[1];
    Ok(Taken::of([cpu, p50, p99, vec![growth]].concat()))
}

/// Ten tunnels are active, the others rest.
pub fn few_active(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut load = tunnels(side.relay.listen, FEW, bench)?;
    let [mut cpu, mut p99] = [(); 2].map(|()| Vec::new());
    let (mut resting, mut open) = (Vec::new(), FEW);
    for count in steps(bench, peer) {
        resting.push(tunnels(side.relay.listen, count - open, bench)?);
        open = count;
        let (ran, used) = paced(&mut load, &side, bench)?;
        cpu.push(used.each(ran.count));
        p99.push(ran.latency(0.99));
    }
    drop(side);
    Ok(Taken::of([cpu, p99].concat()))
}

/// Tunnels that carried one message each and rest. The kernel's part is the relay's alone: what the same number of
/// connections without a relay takes is subtracted.
pub fn memory(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    thread::sleep(SETTLE);
    let [_, _, few, many] = steps(bench, peer);
    let mut values = Vec::new();
    let (mut resting, mut open) = (Vec::new(), 0);
    let (mut direct, mut both, empty) = (0.0, 0.0, Held::of(side.relay.id)?.kib as f64);
    for count in [few, many] {
        for (to, sum) in [
            (side.server.address, &mut direct),
            (side.relay.listen, &mut both),
        ] {
            let before = slab()? as f64;
            resting.push(tunnels(to, count - open, bench)?);
            thread::sleep(SETTLE);
            *sum += slab()? as f64 - before;
        }
        open = count;
        let held = Held::of(side.relay.id)?.kib as f64 - empty;
        values.extend([held, both - direct].map(|kib| kib / count as f64));
    }
    drop(side);
    Ok(Taken::of(values))
}

/// One thread on its own core, and two on both cores, one of which the load and the server have too.
pub fn threads(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let mut values = Vec::new();
    for threads in [1, 2] {
        let side = Side::before(Server::start(false)?, bench, peer, threads)?;
        let mut load = tunnels(side.relay.listen, 100, bench)?;
        let times = [200, bench.either(300, 500)];
        let (ran, used) = bench.run(&mut load, Pace::Closed, times, side.relay.id)?;
        values.extend([used.each(ran.count), ran.rate()]);
        drop(side);
    }
    values.push(values[3] / values[1]);
    Ok(Taken::of(values))
}

/// Tunnels, or connections to the server itself, each of which has carried a message.
fn tunnels(to: SocketAddr, count: usize, bench: &Bench) -> io::Result<Driver<Echo>> {
    let mut load = Driver::new(to, count, Echo::through_relay(THROUGH_RELAY))?.connect()?;
    load.run(Pace::Closed, Until::Sent(count as u64), &bench.stop)?;
    Ok(load)
}

fn paced(load: &mut Driver<Echo>, side: &Side, bench: &Bench) -> io::Result<(Ran, Used)> {
    bench.run(load, PACE, [200, bench.either(300, 500)], side.relay.id)
}

/// Tunnels of each step; the last has fewer in a quick run, or where a process may have fewer descriptors. A tunnel takes
/// two of the relay, and two of the load and the server where both kinds are open.
fn steps(bench: &Bench, peer: &Found) -> [usize; 4] {
    let wanted = bench.either(1_000, 10_000);
    let many = bench.fitting(wanted, 2, peer.spec.most_tunnels);
    [10, 100, 1_000, many.max(1_000)]
}
