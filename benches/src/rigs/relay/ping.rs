//! A ping beside four bulk tunnels.

use std::io;
use std::time::Duration;

use super::bulk::GIB;
use super::side::Side;
use crate::load::ping::ping;
use crate::peers::{Found, Under};
use crate::rigs::{Bench, Taken};

const BULK: usize = 4;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start_under(bench, peer, &Under::Nothing, true)?;
    let time = Duration::from_millis(bench.either(600, 1200));
    let (ran, bytes) = ping(side.relay.listen, BULK, time, &bench.pattern, &bench.stop)?;
    Ok(Taken::values(vec![
        ("ping-p50", ran.latency(0.5)),
        ("ping-p99", ran.latency(0.99)),
        ("ping-p99.9", ran.latency(0.999)),
        ("ping-bulk", bytes as f64 / GIB / ran.elapsed.as_secs_f64()),
    ]))
}
