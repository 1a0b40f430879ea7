//! Time and CPU per request, for pages of one kilobyte on connections that are kept, limited and closed; bulk, memory and
//! system calls.

use std::io;

use super::chain::{versions, Chain, Connections};
use crate::load::pace::{Pace, Until};
use crate::measure::bulk::bulk;
use crate::measure::{idle, per_unit, Bench, Taken};
use crate::model::Kind;
use crate::peers::{Found, Under};
use Connections::{Closed, Kept, Limited};

/// A request is one message there and one back.
const MESSAGES: u64 = 2;
/// Bytes each way before a tunnel rests.
const CARRIED: u64 = 256 << 10;
const WARM_UP: u64 = 8 << 20;

/// Clients, and what becomes of their connections. Each of them gives milliseconds per request, or new tunnels per second,
/// and the CPU of each.
type Load = (usize, Connections);

/// Loads that a chain carries one after the other, through this proxy; whether their requests have a tunnel each and the
/// rate is that of new ones.
type Loads = (&'static str, &'static [Load], bool);

const KEPT: Loads = ("squid", &[(5, Kept), (50, Kept)], false);
const CLOSED: Loads = (
    "squid",
    &[(5, Limited), (5, Closed), (50, Limited), (50, Closed)],
    false,
);

/// Each with its own chain: what connections that lasted cost as they end would be in the next load's figures.
const QUICKER: [Loads; 4] = [
    ("embedded", &[(50, Kept)], false),
    ("embedded", &[(5, Closed), (50, Closed)], true),
    ("tinyproxy", &[(50, Kept)], false),
    ("tinyproxy", &[(50, Closed)], true),
];

/// On connections that last.
pub fn kept(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    if peer.spec.kind == Kind::Floor {
        versions().into_iter().for_each(|text| bench.note(text));
    }
    through(bench, peer, &[KEPT])
}

/// On connections that the origin closes, after a hundred requests or after each.
pub fn closed(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    through(bench, peer, &[CLOSED])
}

/// Two proxies that are quicker than squid.
pub fn quicker(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    through(bench, peer, &QUICKER)
}

fn through(bench: &Bench, peer: &Found, all: &[Loads]) -> io::Result<Taken> {
    let mut values = Vec::new();
    for (proxy, loads, as_rate) in all {
        let chain = Chain::to_pages(bench, peer, proxy, &Under::Nothing)?;
        for &(clients, connections) in *loads {
            let (each, cpu) = load(bench, &chain, clients, connections)?;
            let time = 1e3 * clients as f64 / each;
            values.extend([Some(if *as_rate { each } else { time }), cpu]);
        }
    }
    Ok(Taken::of(values))
}

/// Requests per second, and the CPU of each in microseconds where there is a tunnel.
fn load(
    bench: &Bench,
    chain: &Chain,
    clients: usize,
    connections: Connections,
) -> io::Result<(f64, Option<f64>)> {
    let mut gets = chain.gets(clients, connections)?;
    let until = match connections {
        // Whole lives of connections: a part would hold too many beginnings or too few ends.
        Limited => Until::Sent(100 * (clients as u64).max(bench.either(5, 10))),
        _ => Until::milliseconds(bench.either(200, 300)),
    };
    if connections == Kept {
        // Opens the connections, too.
        gets.run(Pace::Closed, Until::milliseconds(100), &bench.stop)?;
    }
    let mut run = || gets.run(Pace::Closed, until, &bench.stop);
    let Some(tunnel) = &chain.tunnel else {
        return Ok((run()?.rate(), None));
    };
    let (ran, used) = bench.during(tunnel.id, run)?;
    Ok((ran.rate(), Some(used.each(ran.count))))
}

/// Through the embedded proxy, down and up.
pub fn bulk_both(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let bytes = bench.either(1 << 26, 1 << 28);
    let mut chain = Chain::to_server(bench, peer, "embedded")?;
    let tunnel = chain.the_tunnel()?;
    let mut values = Vec::new();
    for directions in [[bytes, 0], [0, bytes]] {
        let at = (tunnel.id, tunnel.listen);
        let [rate, cpu, _] = bulk(bench, at, &[], WARM_UP, directions)?;
        values.extend([rate, cpu]);
    }
    Ok(Taken::of(values))
}

/// Per idle tunnel, after each carried some bulk in both directions.
pub fn memory(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let count = bench.fitting(bench.either(100, 1_000), 2, peer.spec.most_tunnels);
    let mut chain = Chain::to_server(bench, peer, "embedded")?;
    let tunnel = chain.the_tunnel()?;
    let held = idle::held(bench, tunnel.listen, tunnel.id, CARRIED, &[count])?;
    let [empty, full] = [0, 1].map(|nth: usize| held[nth].kib as f64);
    Ok(Taken::of([(full - empty) / count as f64]))
}

/// Per message of a request on a kept connection, those that move bytes and the others; and per new tunnel.
pub fn calls(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let life = |connections| {
        move |under: &Under, count| {
            let mut chain = Chain::to_pages(bench, peer, "embedded", under)?;
            per_unit::live(bench, chain.the_tunnel()?, |_| {
                let mut gets = chain.gets(50, connections)?;
                gets.run(Pace::Closed, Until::Sent(count), &bench.stop)
            })
        }
    };
    let mut taken = per_unit::calls(bench, bench.either(1_000, 2_000), MESSAGES, &life(Kept))?;
    let more = per_unit::calls(bench, bench.either(50, 100), 1, &life(Closed))?;
    taken.values.push(more.values.into_iter().sum());
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load of connections that last warms up, and the ends of those before fall into that.
    #[test]
    fn no_load_has_the_ends_of_connections_that_lasted_in_its_figures() {
        for (proxy, loads, _) in [KEPT, CLOSED].iter().chain(&QUICKER) {
            for pair in loads.windows(2) {
                let is_clean = pair[0].1 != Kept || pair[1].1 == Kept;
                assert!(is_clean, "{proxy}: {pair:?}");
            }
        }
    }
}
