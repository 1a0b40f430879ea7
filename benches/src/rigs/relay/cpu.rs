//! CPU per small request: 50 connections, a closed loop.

use std::io;
use std::time::{Duration, Instant};

use super::side::{Side, CONNECTIONS};
use crate::load::requests::{Requests, Until};
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut requests = Requests::tunnelled(side.relay.listen, CONNECTIONS)?;
    requests.run(Until::Elapsed(Duration::from_millis(200)), &bench.stop)?;
    let time = Duration::from_millis(bench.either(500, 1000));
    let (before, begun) = (Cpu::of(side.relay.id)?, Instant::now());
    let count = requests.run(Until::Elapsed(time), &bench.stop)? as f64;
    let (after, elapsed) = (Cpu::of(side.relay.id)?, begun.elapsed());
    let each = after.seconds_since(before) / count * 1e6;
    let user = after.user_share_since(before);
    Ok(Taken::values(vec![
        ("cpu", each),
        ("cpu-user", each * user),
        ("cpu-system", each * (1.0 - user)),
        ("requests", count / elapsed.as_secs_f64()),
    ]))
}
