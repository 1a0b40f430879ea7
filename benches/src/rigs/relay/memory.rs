//! Memory and descriptors per idle tunnel, after each carried bulk in both directions.

use std::io;

use crate::measure::side::Side;
use crate::measure::{idle, Bench, Taken};
use crate::peers::Found;

/// Descriptors of a relay that a tunnel takes.
const EACH: usize = 2;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let bytes = bench.either(64 << 10, 1 << 18);
    let (few, many) = bench.either((200, 1_000), (1_000, 10_000));
    let many = bench.fitting(many, EACH, peer.spec.most_tunnels);
    let side = Side::start(bench, peer)?;
    let held = idle::held(bench, side.relay.listen, side.relay.id, bytes, &[few, many])?;
    let [empty, at_few, at_many] = held[..] else {
        return Err(io::Error::other("two counts make three measurements"));
    };
    let each = |now: u64, before: u64, count: usize| (now as f64 - before as f64) / count as f64;
    // Between the counts: what all tunnels share, such as a pool, is in both.
    let (more, below) = match many.checked_sub(few) {
        Some(more @ 1..) => (more, at_few),
        _ => (many, empty),
    };
    Ok(Taken::of([
        each(at_few.kib, empty.kib, few),
        each(at_many.kib, empty.kib, many),
        each(at_many.descriptors, below.descriptors, more),
        each(at_many.pipe_ends, below.pipe_ends, more),
    ]))
}
