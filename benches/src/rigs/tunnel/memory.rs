//! Memory per idle tunnel, after each carried some bulk in both directions.

use std::io;
use std::thread;
use std::time::Duration;

use super::chain::{Chain, Proxy};
use crate::load::idle::Idle;
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Held;

/// Bytes each way before a tunnel rests.
const CARRIED: u64 = 256 << 10;
/// Time for a tunnel to let go of what it holds.
const SETTLE: Duration = Duration::from_millis(1500);

/// What a quick run's column holds.
pub const QUICK: &str = "memory: a quick run opens 100 tunnels where a full one opens 1,000";

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let wanted: usize = bench.either(100, 1_000);
    let count = wanted.min(peer.spec.most_tunnels.unwrap_or(wanted));
    let chain = Chain::to_server(bench, peer, Proxy::Embedded)?;
    let tunnel = chain
        .tunnel()
        .ok_or_else(|| io::Error::other("there is no tunnel"))?;
    thread::sleep(Duration::from_millis(100));
    let empty = Held::of(tunnel.id)?.kib;
    let mut idle = Idle::new(chain.address(), CARRIED);
    idle.grow(count, &bench.pattern, &bench.stop)?;
    thread::sleep(SETTLE);
    let held = Held::of(tunnel.id)?.kib;
    let mut taken = Taken::values(vec![(
        "memory",
        (held as f64 - empty as f64) / count as f64,
    )]);
    if count < wanted {
        taken.notes.push(format!(
            "{count} idle tunnels instead of {wanted}: its entry in peers.toml says so"
        ));
    }
    Ok(taken)
}
