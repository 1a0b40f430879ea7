//! ptunnel and its rungs as tunnels: through the embedded proxy to the rig's server.

use std::io;
use std::net::SocketAddr;

use super::profile;
use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::load::server::Server;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::measure::{per_unit, Bench, Taken};
use crate::model::Cores;
use crate::peers::{Found, Running, Setup, Under};

/// New tunnels open at a time.
const AT_ONCE: usize = 8;

/// A connection, CONNECT, its reply, one exchange and the end.
pub fn handshake(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    lives(bench, peer, bench.either(200, 1_000), |tunnel, count| {
        let mut load = Driver::new(tunnel, AT_ONCE, Echo::once())?;
        let ran = load.run(Pace::Closed, Until::Sent(count), &bench.stop);
        ran.map(drop)
    })
}

pub fn download(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    lives(bench, peer, bench.either(64, 512), |tunnel, mib| {
        transfer(&client(tunnel, 0)?, [mib << 20, 0], &bench.pattern)
    })
}

pub fn upload(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    lives(bench, peer, bench.either(64, 512), |tunnel, mib| {
        transfer(&client(tunnel, 0)?, [0, mib << 20], &bench.pattern)
    })
}

/// Whole lives of a tunnel, which ends before its proxy and the server.
fn lives(
    bench: &Bench,
    peer: &Found,
    count: u64,
    work: impl Fn(SocketAddr, u64) -> io::Result<()>,
) -> io::Result<Taken> {
    profile(bench, count, &|under, count| {
        let server = Server::start(false)?;
        let proxy = embedded_proxy(bench, peer)?;
        let setup = Setup::relaying_to(server.address).through(proxy.listen);
        let tunnel = bench.start(peer, setup, under)?;
        per_unit::live(bench, tunnel, |listen| work(listen, count))
    })
}

/// The peer's own, not measured. It shares the load's core.
fn embedded_proxy(bench: &Bench, peer: &Found) -> io::Result<Running> {
    let mut proxy = peer.clone();
    proxy.spec.name.push_str("-proxy");
    let start = ["{binary}", "--serve-proxy", "{listen}"];
    proxy.spec.start = start.map(String::from).to_vec();
    proxy.spec.ready_line = Some("serving proxy on".to_string());
    let cores = bench
        .cores
        .map(|Cores { load, .. }| Cores { peer: load, load });
    let (serving, nothing) = (Setup::serving(1), Under::Nothing);
    Running::start(&proxy, serving, &nothing, &bench.folder, cores)
}
