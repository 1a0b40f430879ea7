//! New tunnels per second, one exchange each.

use std::io;
use std::time::Duration;

use super::side::Side;
use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

/// Tunnels open at a time.
const AT_ONCE: usize = 32;
const WARM_UP: Until = Until::Elapsed(Duration::from_millis(100));

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut load = Driver::new(side.relay.listen, AT_ONCE, Echo::once())?;
    load.run(Pace::Closed, WARM_UP, &bench.stop)?;
    let time = Until::Elapsed(Duration::from_millis(bench.either(400, 500)));
    let (ran, used) = Cpu::during(side.relay.id, || load.run(Pace::Closed, time, &bench.stop))?;
    Ok(Taken::values(vec![
        ("tunnels", ran.rate()),
        ("tunnels-cpu", used.each(ran.count)),
    ]))
}
