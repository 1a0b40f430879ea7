//! New tunnels per second, one exchange each.

use std::io;
use std::time::{Duration, Instant};

use super::side::Side;
use crate::load::tunnels::Tunnels;
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

/// Tunnels open at a time.
const AT_ONCE: usize = 32;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let side = Side::start(bench, peer)?;
    let mut tunnels = Tunnels::new(side.relay.listen, AT_ONCE)?;
    tunnels.run(Duration::from_millis(100), &bench.stop)?;
    let time = Duration::from_millis(bench.either(400, 800));
    let (before, begun) = (Cpu::of(side.relay.id)?, Instant::now());
    let count = tunnels.run(time, &bench.stop)? as f64;
    let elapsed = begun.elapsed().as_secs_f64();
    let used = Cpu::of(side.relay.id)?.seconds_since(before);
    Ok(Taken::values(vec![
        ("tunnels", count / elapsed),
        ("tunnels-cpu", used / count * 1e6),
    ]))
}
