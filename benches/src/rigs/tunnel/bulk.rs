//! Bulk through a tunnel and the embedded proxy, down and up.

use std::io;
use std::time::Instant;

use super::chain::{Chain, Proxy};
use super::used::Used;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::peers::Found;
use crate::rigs::{Bench, Taken};

const GIB: f64 = (1_u64 << 30) as f64;
/// Moved first: the windows open and the tunnel finds its mode.
const WARM_UP: u64 = 8 << 20;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let bytes: u64 = bench.either(1 << 26, 1 << 28);
    let chain = Chain::to_server(bench, peer, Proxy::Embedded)?;
    let tunnel = chain
        .tunnel()
        .ok_or_else(|| io::Error::other("there is no tunnel"))?;
    let mut values = Vec::new();
    for ([rate, cpu], down, up) in [
        (["bulk-download", "bulk-download-cpu"], true, false),
        (["bulk-upload", "bulk-upload-cpu"], false, true),
    ] {
        let stream = client(chain.address(), 0)?;
        let moved = |bytes: u64| {
            transfer(
                &stream,
                either(down, bytes),
                either(up, bytes),
                &bench.pattern,
            )
        };
        moved(WARM_UP)?;
        bench.stop.check()?;
        let (used, begun) = (Used::begin(bench, tunnel.id)?, Instant::now());
        moved(bytes)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let gib = bytes as f64 / GIB;
        values.push((rate, gib / elapsed));
        values.push((cpu, used.seconds()? / gib));
    }
    Ok(Taken::values(values))
}

fn either(wanted: bool, bytes: u64) -> u64 {
    if wanted {
        bytes
    } else {
        0
    }
}
