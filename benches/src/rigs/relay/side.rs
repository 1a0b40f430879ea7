//! One side of the comparison: a fresh relay in front of a fresh server.

use std::io;

use crate::load::driver::Driver;
use crate::load::echo::{Echo, THROUGH_RELAY};
use crate::load::pace::{Pace, Until};
use crate::load::server::Server;
use crate::peers::{Found, Running, Setup, Under};
use crate::rigs::{lives, Bench};

/// Connections of the figures for small requests.
pub const CONNECTIONS: usize = 50;

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

    /// The load of the figures for small requests.
    pub fn load(&self) -> io::Result<Driver<Echo>> {
        let echo = Echo::through_relay(THROUGH_RELAY);
        Driver::new(self.relay.listen, CONNECTIONS, echo)?.connect()
    }

    /// A whole life under a tool, with that many small requests.
    pub fn live(bench: &Bench, peer: &Found, under: &Under, count: u64) -> io::Result<()> {
        let side = Side::start_under(bench, peer, under, false)?;
        lives::until_closed(side.relay.id, bench, || {
            side.load()?
                .run(Pace::Closed, Until::Sent(count), &bench.stop)
                .map(drop)
        })?;
        side.relay.end()
    }
}
