//! The closed loop of `cpu` again, by another load generator: the same connections, the same bytes each way.

use std::io;

use super::side::{Side, CONNECTIONS};
use crate::load::echo::THROUGH_RELAY;
use crate::load::wrk::{wrk, Ask};
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let ask = Ask::Echo(THROUGH_RELAY, &bench.folder);
    let run = || wrk(side.relay.listen, CONNECTIONS, ask);
    let (said, used) = Cpu::during(side.relay.id, run)?;
    Ok(Taken::values(vec![
        ("wrk-cpu", used.each(said.count)),
        ("wrk-requests", said.rate),
    ]))
}
