//! Small requests: CPU of each, in closed loops, at fixed rates and by another load generator; and new tunnels.

use std::io;

use crate::load::driver::Driver;
use crate::load::echo::{Echo, THROUGH_RELAY};
use crate::load::pace::Pace;
use crate::load::wrk::{wrk, Ask};
use crate::measure::side::Side;
use crate::measure::{Bench, Taken};
use crate::peers::Found;

/// Connections of the figures for small requests.
pub const CONNECTIONS: usize = 50;
/// New tunnels that are open at a time.
const AT_ONCE: usize = 32;
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];
/// How much longer than planned a run may take before a note says so.
const LATE: f64 = 1.05;

pub fn closed_loop(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut load = side.load(CONNECTIONS)?;
    let times = [200, bench.either(500, 600)];
    let (ran, used) = bench.run(&mut load, Pace::Closed, times, side.relay.id)?;
    bench.carried(peer, ran.rate());
    let each = used.each(ran.count);
    let (user, system) = (each * used.user, each * (1.0 - used.user));
    Ok(Taken::of([each, user, system, ran.rate()]))
}

/// CPU per request, how busy the relay's core is, and the latencies of [`QUANTILES`], at rates that are the same for all
/// peers: percents of what the slowest of the headline's peers can carry. The CPU that a request takes depends on how busy
/// a relay is, and a closed loop keeps no two of them equally busy.
pub fn at_rates(bench: &Bench, peer: &Found, percents: &[f64]) -> io::Result<Taken> {
    let capacity = bench.slowest()?;
    let side = Side::start(bench, peer)?;
    let mut load = side.load(CONNECTIONS)?;
    let [warm_up, time] = bench.either([50, 250], [100, 800]);
    let mut values = Vec::new();
    for percent in percents {
        let rate = percent / 100.0 * capacity;
        let pace = Pace::Open { rate };
        let (ran, used) = bench.run(&mut load, pace, [warm_up, time], side.relay.id)?;
        if ran.elapsed.as_secs_f64() > LATE * time as f64 / 1e3 {
            let text = "did not keep up: requests queue, and their latencies grow with the run";
            bench.note(format!("{percent:.0} % of the slowest's capacity: {text}"));
        }
        let each = used.each(ran.count);
        values.extend([each, each * ran.rate() / 1e4]);
        values.extend(QUANTILES.map(|quantile| ran.latency(quantile)));
    }
    Ok(Taken::of(values))
}

/// The closed loop again: the same connections, the same bytes each way.
pub fn by_wrk(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let ask = Ask::Echo(THROUGH_RELAY, &bench.folder);
    let run = || wrk(side.relay.listen, CONNECTIONS, ask);
    let (said, used) = bench.during(side.relay.id, run)?;
    Ok(Taken::of([used.each(said.count), said.rate]))
}

/// One exchange each.
pub fn new_tunnels(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut load = Driver::new(side.relay.listen, AT_ONCE, Echo::once())?;
    let times = [100, bench.either(400, 500)];
    let (ran, used) = bench.run(&mut load, Pace::Closed, times, side.relay.id)?;
    Ok(Taken::of([ran.rate(), used.each(ran.count)]))
}
