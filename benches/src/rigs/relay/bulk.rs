//! Bulk through one tunnel, and a ping beside it.

use std::io;
use std::time::Duration;

use crate::load::ping::ping;
use crate::load::server::Server;
use crate::measure::bulk::{bulk, GIB};
use crate::measure::side::Side;
use crate::measure::{Bench, Taken};
use crate::peers::Found;

/// Downloads beside the ping.
const BULK: usize = 4;
const WARM_UP: u64 = 16 << 20;

/// Down, up, both at once.
pub fn alone(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    bench.moves_bulk_as_it_says(peer)?;
    let bytes = bench.either(1 << 27, 1 << 29);
    let Side { relay, server } = Side::start(bench, peer)?;
    let at = (relay.id, relay.listen);
    let mut values = Vec::new();
    for directions in [[bytes, 0], [0, bytes], [bytes, bytes]] {
        values.extend(bulk(bench, at, &[server.id()], WARM_UP, directions)?);
    }
    Ok(Taken::of(values))
}

pub fn beside_ping(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    // It answers small messages before it does anything else.
    let side = Side::before(Server::start(true)?, bench, peer, 1)?;
    let time = Duration::from_millis(bench.either(600, 1200));
    let (ran, bytes) = ping(side.relay.listen, BULK, time, &bench.pattern, &bench.stop)?;
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| ran.latency(quantile));
    let rate = bytes as f64 / GIB / ran.elapsed.as_secs_f64();
    Ok(Taken::of([p50, p99, p999, rate]))
}
