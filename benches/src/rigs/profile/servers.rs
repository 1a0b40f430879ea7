//! The servers of the rigs `echo` and `plaintext`, under their loads.

use std::io;

use super::profile;
use crate::load::channel::Security;
use crate::load::pipelined::Pipelined;
use crate::load::requests::{Requests, Until};
use crate::peers::{Found, Setup, Under};
use crate::rigs::{lives, Bench, Taken};

const CONNECTIONS: usize = 50;
/// Bytes of an echoed message, as in the article.
const MESSAGE: usize = 100;

pub fn echo(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["echo", "echo-allocations"];
    profile(
        bench,
        figures,
        bench.either(1_000, 5_000),
        &|under, count| {
            live(bench, peer, under, |listen| {
                let mut requests = Requests::echoed(listen, CONNECTIONS, MESSAGE)?;
                requests.run(Until::Sent(count), &bench.stop).map(drop)
            })
        },
    )
}

pub fn plaintext(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["plaintext", "plaintext-allocations"];
    pipelined(bench, peer, figures, 1)
}

pub fn plaintext_16(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["plaintext-16", "plaintext-16-allocations"];
    pipelined(bench, peer, figures, 16)
}

fn pipelined(
    bench: &Bench,
    peer: &Found,
    figures: [&'static str; 2],
    depth: usize,
) -> io::Result<Taken> {
    // As many whole batches for each connection.
    let count = (CONNECTIONS * depth) as u64 * bench.either(20, 100);
    profile(bench, figures, count, &|under, count| {
        live(bench, peer, under, |listen| {
            let mut requests = Pipelined::open(listen, &Security::Clear, CONNECTIONS, depth)?;
            requests.run(Until::Sent(count), &bench.stop).map(drop)
        })
    })
}

/// A whole life of a server under a tool.
fn live(
    bench: &Bench,
    peer: &Found,
    under: &Under,
    work: impl FnOnce(std::net::SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let server = bench.start(peer, Setup::serving(1), under)?;
    lives::until_closed(server.id, bench, || work(server.listen))?;
    server.end()
}
