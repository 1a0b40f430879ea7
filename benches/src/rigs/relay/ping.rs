//! A ping beside four bulk tunnels.

use std::io;
use std::time::Duration;

use super::side::Side;
use crate::load::ping::ping;
use crate::peers::{Found, Under};
use crate::report::stats::quantile;
use crate::rigs::{Bench, Taken};

const BULK: usize = 4;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start_under(bench, peer, &Under::Nothing, true)?;
    let time = Duration::from_millis(bench.either(600, 1200));
    let taken = ping(side.relay.listen, BULK, time, &bench.pattern, &bench.stop)?;
    let micros: Vec<f64> = taken.iter().map(|t| t.as_secs_f64() * 1e6).collect();
    let at = |q| quantile(&micros, q).ok_or_else(|| io::Error::other("no ping came back"));
    Ok(Taken::values(vec![
        ("ping-p50", at(0.5)?),
        ("ping-p99", at(0.99)?),
        ("ping-p99.9", at(0.999)?),
    ]))
}
