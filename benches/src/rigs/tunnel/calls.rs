//! System calls: per message of a request on a kept connection, and per new tunnel.

use std::io;

use super::chain::{Chain, Connections, Proxy};
use crate::load::pace::{Pace, Until};
use crate::peers::{Found, Under};
use crate::rigs::{lives, Bench, Taken};

const CLIENTS: usize = 50;
/// A request is one message there and one back.
const MESSAGES: u64 = 2;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let requests = bench.either(1_000, 2_000);
    let mut taken = lives::calls(bench, requests, MESSAGES, &|under, count| {
        live(bench, peer, Connections::Kept, under, count)
    })?;
    let tunnels = bench.either(50, 100);
    let more = lives::calls(bench, tunnels, 1, &|under, count| {
        live(bench, peer, Connections::Closed, under, count)
    })?;
    let each = more.values.iter().map(|(_, calls)| calls).sum();
    taken.values.push(("calls-tunnel", each));
    Ok(taken)
}

fn live(
    bench: &Bench,
    peer: &Found,
    connections: Connections,
    under: &Under,
    count: u64,
) -> io::Result<()> {
    let chain = Chain::to_pages(bench, peer, Proxy::Embedded, under)?;
    let tunnel = chain
        .tunnel()
        .ok_or_else(|| io::Error::other("there is no tunnel"))?;
    lives::until_closed(tunnel.id, bench, || {
        let mut gets = chain.gets(CLIENTS, connections)?;
        gets.run(Pace::Closed, Until::Sent(count), &bench.stop)
            .map(drop)
    })?;
    chain.end()
}
