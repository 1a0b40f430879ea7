//! Bulk through one tunnel: down, up, both at once.

use std::io;
use std::time::Instant;

use super::side::Side;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

pub const GIB: f64 = (1_u64 << 30) as f64;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    bench.moves_bulk_as_it_says(peer)?;
    let bytes = bench.either(1 << 27, 1 << 29);
    let side = Side::start(bench, peer)?;
    let mut values = Vec::new();
    let load = || Cpu::seconds_alone(std::process::id()) + Cpu::seconds_alone(side.server.id());
    for ([rate, cpu, of_load], down, up) in [
        (
            ["bulk-download", "bulk-download-cpu", "bulk-download-load"],
            bytes,
            0,
        ),
        (
            ["bulk-upload", "bulk-upload-cpu", "bulk-upload-load"],
            0,
            bytes,
        ),
        (
            ["bulk-both", "bulk-both-cpu", "bulk-both-load"],
            bytes,
            bytes,
        ),
    ] {
        let stream = client(side.relay.listen, 0)?;
        // The windows open and the relay finds its mode.
        transfer(
            &stream,
            down.min(16 << 20),
            up.min(16 << 20),
            &bench.pattern,
        )?;
        bench.stop.check()?;
        let (before, load_before, begun) = (Cpu::of(side.relay.id)?, load(), Instant::now());
        transfer(&stream, down, up, &bench.pattern)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let used = Cpu::of(side.relay.id)?.seconds_since(before);
        let moved = (down + up) as f64 / GIB;
        values.push((rate, moved / elapsed));
        values.push((cpu, used / moved));
        values.push((of_load, (load() - load_before) / moved));
    }
    Ok(Taken::values(values))
}
