//! One side of the comparison: a fresh relay in front of a fresh server.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::load::requests::{Requests, Until};
use crate::load::server::Server;
use crate::peers::{Found, Running, Setup, Under};
use crate::rigs::Bench;
use crate::tools::process::census;

/// Connections of the figures for small requests.
pub const CONNECTIONS: usize = 50;
/// Processes under callgrind write their files as they end, and that takes a while.
const CLOSES_WITHIN: Duration = Duration::from_secs(15);

/// The relay ends first.
#[derive(Debug)]
pub struct Side {
    pub relay: Running,
    pub server: Server,
}

impl Side {
    pub fn start(bench: &Bench, peer: &Found) -> io::Result<Side> {
        Side::start_under(bench, peer, &Under::Nothing, false)
    }

    /// With `first`, the server answers small messages before it does anything else.
    pub fn start_under(
        bench: &Bench,
        peer: &Found,
        under: &Under,
        first: bool,
    ) -> io::Result<Side> {
        let server = Server::start(first)?;
        let relay = bench.start(peer, Setup::relaying_to(server.address), under)?;
        Ok(Side { relay, server })
    }

    /// Carries that many small requests and waits until the relay has closed their tunnels: a tool that counts a whole
    /// life must see the same end each time.
    pub fn carry(&self, count: u64, bench: &Bench) -> io::Result<()> {
        let before = census(self.relay.id);
        let mut requests = Requests::open(self.relay.listen, CONNECTIONS)?;
        requests.run(Until::Sent(count), &bench.stop)?;
        drop(requests);
        let begun = Instant::now();
        while begun.elapsed() < CLOSES_WITHIN {
            let now = census(self.relay.id);
            if now.0 <= before.0 && now.1 <= before.1 {
                break;
            }
            bench.stop.check()?;
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
