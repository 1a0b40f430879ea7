//! Bulk through one tunnel.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use super::bench::Bench;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::tools::process::Cpu;

pub const GIB: f64 = (1_u64 << 30) as f64;

/// Moves so many bytes down and up at the same time, through a tunnel of the process `id` at `to`; at most `warm_up` each
/// way before, in which the windows open and the tunnel finds its mode. Returns GiB per second, and seconds on a core per
/// GiB: those of the process, and those of this one and the `servers`.
///
/// # Errors
/// Those of the load.
pub fn bulk(
    bench: &Bench,
    (id, to): (u32, SocketAddr),
    servers: &[u32],
    warm_up: u64,
    [down, up]: [u64; 2],
) -> io::Result<[f64; 3]> {
    let stream = client(to, 0)?;
    transfer(
        &stream,
        [down.min(warm_up), up.min(warm_up)],
        &bench.pattern,
    )?;
    bench.stop.check()?;
    let loads = servers.iter().copied().chain([std::process::id()]);
    let load = || loads.clone().map(Cpu::seconds_alone).sum::<f64>();
    let before = load();
    let (elapsed, used) = bench.during(id, || {
        let begun = Instant::now();
        transfer(&stream, [down, up], &bench.pattern)?;
        Ok(begun.elapsed().as_secs_f64())
    })?;
    let moved = (down + up) as f64 / GIB;
    Ok([
        moved / elapsed,
        used.seconds / moved,
        (load() - before) / moved,
    ])
}
