//! ptunnel and its rungs as tunnels: through the embedded proxy to the rig's server.

use std::io;

use super::profile;
use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::load::server::Server;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::peers::{Found, Running, Setup, Under};
use crate::rigs::{lives, Bench, Taken};
use crate::tools::machine::Cores;

/// New tunnels open at a time.
const AT_ONCE: usize = 8;

/// A connection, CONNECT, its reply, one exchange and the end.
pub fn handshake(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["handshake", "handshake-allocations"];
    profile(bench, figures, bench.either(200, 1_000), &|under, count| {
        Side::live(bench, peer, under, |side| {
            let mut load = Driver::new(side.tunnel.listen, AT_ONCE, Echo::once())?;
            load.run(Pace::Closed, Until::Sent(count), &bench.stop)
                .map(drop)
        })
    })
}

pub fn download(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["mib-download", "mib-download-allocations"];
    bulk(bench, peer, figures, |bytes| (bytes, 0))
}

pub fn upload(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["mib-upload", "mib-upload-allocations"];
    bulk(bench, peer, figures, |bytes| (0, bytes))
}

fn bulk(
    bench: &Bench,
    peer: &Found,
    figures: [&'static str; 2],
    directions: fn(u64) -> (u64, u64),
) -> io::Result<Taken> {
    profile(bench, figures, bench.either(64, 512), &|under, mib| {
        Side::live(bench, peer, under, |side| {
            let (down, up) = directions(mib << 20);
            transfer(&client(side.tunnel.listen, 0)?, down, up, &bench.pattern)
        })
    })
}

/// The tunnel ends first.
struct Side {
    tunnel: Running,
    /// The peer's own embedded proxy, not measured. It shares the load's core.
    _proxy: Running,
    _server: Server,
}

impl Side {
    /// A whole life of a tunnel under a tool.
    fn live(
        bench: &Bench,
        peer: &Found,
        under: &Under,
        work: impl FnOnce(&Side) -> io::Result<()>,
    ) -> io::Result<()> {
        let server = Server::start(false)?;
        let proxy = embedded_proxy(bench, peer)?;
        let setup = Setup::relaying_to(server.address).through(proxy.listen);
        let tunnel = bench.start(peer, setup, under)?;
        let side = Side {
            tunnel,
            _proxy: proxy,
            _server: server,
        };
        lives::until_closed(side.tunnel.id, bench, || work(&side))?;
        side.tunnel.end()
    }
}

fn embedded_proxy(bench: &Bench, peer: &Found) -> io::Result<Running> {
    let mut proxy = peer.clone();
    proxy.spec.name.push_str("-proxy");
    proxy.spec.start = ["{binary}", "--serve-proxy", "{listen}"]
        .map(String::from)
        .to_vec();
    proxy.spec.ready_line = Some("serving proxy on".to_string());
    let cores = bench.cores.map(|cores| Cores {
        peer: cores.load,
        ..cores
    });
    Running::start(
        &proxy,
        Setup::serving(1),
        &Under::Nothing,
        &bench.folder,
        cores,
    )
}
