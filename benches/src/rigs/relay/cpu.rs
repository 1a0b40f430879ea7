//! CPU per small request: 50 connections, a closed loop.

use std::io;
use std::time::Duration;

use super::side::Side;
use crate::load::pace::{Pace, Until};
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

pub const WARM_UP: Until = Until::Elapsed(Duration::from_millis(200));

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut load = side.load()?;
    load.run(Pace::Closed, WARM_UP, &bench.stop)?;
    let time = Until::Elapsed(Duration::from_millis(bench.either(500, 600)));
    let (ran, used) = Cpu::during(side.relay.id, || load.run(Pace::Closed, time, &bench.stop))?;
    bench.carried(peer, ran.rate());
    let each = used.each(ran.count);
    Ok(Taken::values(vec![
        ("cpu", each),
        ("cpu-user", each * used.user),
        ("cpu-system", each * (1.0 - used.user)),
        ("requests", ran.rate()),
    ]))
}
