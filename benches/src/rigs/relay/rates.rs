//! CPU per small request and its latency at fixed rates, which are the same for all peers: shares of what the slowest of
//! the headline's peers can carry. The CPU that a request takes depends on how busy a relay is, and a closed loop keeps no two of them
//! equally busy.

use std::io;
use std::time::Duration;

use super::side::Side;
use crate::load::pace::{Pace, Until};
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

/// A share of the slowest's capacity, and the names of what is measured there: CPU per request, how busy the relay's core
/// is, and the latencies of [`QUANTILES`].
type Rate = (f64, [&'static str; 7]);

const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];
const SIXTY: Rate = (
    0.6,
    [
        "cpu-60",
        "busy-60",
        "p50-60",
        "p90-60",
        "p99-60",
        "p99.9-60",
        "p99.99-60",
    ],
);
const OTHERS: [Rate; 2] = [
    (
        0.3,
        [
            "cpu-30",
            "busy-30",
            "p50-30",
            "p90-30",
            "p99-30",
            "p99.9-30",
            "p99.99-30",
        ],
    ),
    (
        0.9,
        [
            "cpu-90",
            "busy-90",
            "p50-90",
            "p90-90",
            "p99-90",
            "p99.9-90",
            "p99.99-90",
        ],
    ),
];
/// How much longer than planned a run may take before a note says so.
const LATE: f64 = 1.05;

/// At 60 %: the headline, which has more rounds than the others.
pub fn sixty(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &[SIXTY])
}

pub fn others(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &OTHERS)
}

fn sample(bench: &Bench, peer: &Found, rates: &[Rate]) -> io::Result<Taken> {
    let capacity = bench.slowest()?;
    let side = Side::start(bench, peer)?;
    let mut load = side.load()?;
    let [warm_up, time] = bench
        .either([50, 250], [100, 800])
        .map(Duration::from_millis);
    let mut values = Vec::new();
    for &(share, [cpu, busy, latencies @ ..]) in rates {
        let pace = Pace::Open {
            rate: share * capacity,
        };
        load.run(pace, Until::Elapsed(warm_up), &bench.stop)?;
        let run = || load.run(pace, Until::Elapsed(time), &bench.stop);
        let (ran, used) = Cpu::during(side.relay.id, run)?;
        if ran.elapsed > time.mul_f64(LATE) {
            let text = "did not keep up: requests queue, and their latencies grow with the run";
            bench.note(format!(
                "{:.0} % of the slowest's capacity: {text}",
                share * 100.0
            ));
        }
        values.push((cpu, used.each(ran.count)));
        values.push((busy, used.each(ran.count) * ran.rate() / 1e4));
        values.extend(latencies.into_iter().zip(QUANTILES.map(|q| ran.latency(q))));
    }
    Ok(Taken::values(values))
}
