//! One side of a comparison of relays: a fresh relay in front of a fresh server.

use std::io;

use super::bench::Bench;
use crate::load::driver::Driver;
use crate::load::echo::{Echo, THROUGH_RELAY};
use crate::load::server::Server;
use crate::peers::{Found, Running, Setup, Under};

/// The relay ends first.
#[derive(Debug)]
pub struct Side {
    pub relay: Running,
    pub server: Server,
}

impl Side {
    pub fn start(bench: &Bench, peer: &Found) -> io::Result<Side> {
        Side::before(Server::start(false)?, bench, peer, 1)
    }

    /// In front of this server, with that many threads.
    pub fn before(server: Server, bench: &Bench, peer: &Found, threads: usize) -> io::Result<Side> {
        let setup = Setup {
            threads,
            ..Setup::relaying_to(server.address)
        };
        let relay = bench.start(peer, setup, &Under::Nothing)?;
        Ok(Side { relay, server })
    }

    /// Clients that send small requests through it.
    pub fn load(&self, clients: usize) -> io::Result<Driver<Echo>> {
        let echo = Echo::through_relay(THROUGH_RELAY);
        Driver::new(self.relay.listen, clients, echo)?.connect()
    }
}
