//! Cold start: from the start of the process until it listens.

use std::io;
use std::time::Instant;

use crate::load::server::Server;
use crate::measure::{Bench, Taken};
use crate::model::median;
use crate::peers::{Found, Setup, Under};

/// Starts of a sample, of which the median counts.
const STARTS: usize = 5;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let server = Server::start(false)?;
    let setup = Setup::relaying_to(server.address);
    let mut taken = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let _relay = bench.start(peer, setup, &Under::Nothing)?;
        taken.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Taken::of([median(&taken)]))
}
