//! What callgrind and strace count: instructions and system calls of a small request, and those that copy bulk.

use std::io;

use super::small::CONNECTIONS;
use crate::load::driver::Driver;
use crate::load::echo::{Echo, THROUGH_RELAY};
use crate::load::pace::{Pace, Until};
use crate::load::server::Server;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::measure::{per_unit, Bench, Taken};
use crate::model::Part;
use crate::peers::{Found, Setup, Under};
use crate::tools::strace::moves_bytes;

/// A request is one message there and one back.
const MESSAGES: u64 = 2;
/// MiB that are moved down and then up in the shorter life.
const MIB: u64 = 32;

pub fn instructions(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let life = |under: &Under, count| small_requests(bench, peer, under, count);
    per_unit::instructions(bench, bench.either(1_000, 5_000), &life)
}

pub fn calls(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let life = |under: &Under, count| small_requests(bench, peer, under, count);
    per_unit::calls(bench, bench.either(1_500, 5_000), MESSAGES, &life)
}

fn small_requests(bench: &Bench, peer: &Found, under: &Under, count: u64) -> io::Result<()> {
    let server = Server::start(false)?;
    let relay = bench.start(peer, Setup::relaying_to(server.address), under)?;
    per_unit::live(bench, relay, |listen| {
        let echo = Echo::through_relay(THROUGH_RELAY);
        let mut load = Driver::new(listen, CONNECTIONS, echo)?.connect()?;
        load.run(Pace::Closed, Until::Sent(count), &bench.stop)
    })
}

/// Calls that copy bulk, and whether a relay moves it with splice(2) as its entry says.
pub fn splice(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let counted = per_unit::calls(bench, MIB, 2, &|under, mib| {
        let server = Server::start(false)?;
        let relay = bench.start(peer, Setup::relaying_to(server.address), under)?;
        per_unit::live(bench, relay, |listen| {
            let stream = client(listen, 0)?;
            transfer(&stream, [mib << 20, 0], &bench.pattern)?;
            transfer(&stream, [0, mib << 20], &bench.pattern)
        })
    })?;
    let (spliced, copied) = spliced_and_copied(&counted.parts);
    if peer.spec.splice == (spliced > copied) {
        return Ok(Taken::of([copied]));
    }
    bench.mislabelled(peer);
    Err(io::Error::other(format!(
        "its entry has splice = {}, and a MiB of bulk takes {spliced:.1} calls of splice(2) and {copied:.1} that copy",
        peer.spec.splice
    )))
}

/// Calls of splice(2), and others that move bytes.
fn spliced_and_copied(parts: &[Part]) -> (f64, f64) {
    let moving = parts.iter().filter(|part| moves_bytes(&part.name));
    let (spliced, copied): (Vec<&Part>, Vec<&Part>) = moving.partition(|p| p.name == "splice");
    let sum = |parts: Vec<&Part>| parts.iter().fold(0.0, |sum, part| sum + part.value);
    (sum(spliced), sum(copied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_copies_unless_it_splices_or_moves_nothing() {
        let parts = [
            ("recvfrom", 3.0),
            ("splice", 8.0),
            ("sendto", 2.0),
            ("epoll_wait", 9.0),
        ];
        let parts = parts.map(|(name, value)| Part::new(name, value));
        assert_eq!(spliced_and_copied(&parts), (8.0, 5.0));
    }
}
