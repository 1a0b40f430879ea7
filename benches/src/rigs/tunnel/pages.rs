//! Time and CPU per request: pages of one kilobyte, on connections that are kept, limited and closed.

use std::io;
use std::time::Duration;

use super::chain::{versions, Chain, Connections, Proxy};
use super::used::Used;
use crate::load::pace::{Pace, Until};
use crate::peers::{Found, Kind, Under};
use crate::rigs::{Bench, Taken};

/// A load and the figures that it gives: time per request, or new tunnels per second, and CPU.
struct Load {
    clients: usize,
    connections: Connections,
    figures: [&'static str; 2],
    as_rate: bool,
}

const fn timed(clients: usize, connections: Connections, figures: [&'static str; 2]) -> Load {
    Load {
        clients,
        connections,
        figures,
        as_rate: false,
    }
}

/// Each request has its own tunnel, so the rate is that of new tunnels.
const fn new_tunnels(clients: usize, figures: [&'static str; 2]) -> Load {
    Load {
        clients,
        connections: Connections::Closed,
        figures,
        as_rate: true,
    }
}

use Connections::{Closed, Kept, Limited};

/// Loads that a chain carries one after the other.
struct Loads(Proxy, &'static [Load]);

const KEPT: Loads = Loads(
    Proxy::Squid,
    &[
        timed(5, Kept, ["time-kept-c5", "cpu-kept-c5"]),
        timed(50, Kept, ["time-kept-c50", "cpu-kept-c50"]),
    ],
);

const CLOSED: Loads = Loads(
    Proxy::Squid,
    &[
        timed(5, Limited, ["time-100-c5", "cpu-100-c5"]),
        timed(5, Closed, ["time-close-c5", "cpu-close-c5"]),
        timed(50, Limited, ["time-100-c50", "cpu-100-c50"]),
        timed(50, Closed, ["time-close-c50", "cpu-close-c50"]),
    ],
);

/// Each with its own chain: what connections that lasted cost as they end would be in the next load's figures.
const QUICKER: [Loads; 4] = [
    Loads(
        Proxy::Embedded,
        &[timed(50, Kept, ["time-embedded", "cpu-embedded"])],
    ),
    Loads(
        Proxy::Embedded,
        &[
            new_tunnels(5, ["tunnels-embedded-c5", "tunnels-embedded-c5-cpu"]),
            new_tunnels(50, ["tunnels-embedded", "tunnels-embedded-cpu"]),
        ],
    ),
    Loads(
        Proxy::Tinyproxy,
        &[timed(50, Kept, ["time-tinyproxy", "cpu-tinyproxy"])],
    ),
    Loads(
        Proxy::Tinyproxy,
        &[new_tunnels(
            50,
            ["tunnels-tinyproxy", "tunnels-tinyproxy-cpu"],
        )],
    ),
];

/// On connections that last.
pub fn kept(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let mut taken = through(bench, peer, &KEPT)?;
    if peer.spec.kind == Kind::Floor {
        taken.notes = versions();
    }
    Ok(taken)
}

/// On connections that the origin closes, after a hundred requests or after each.
pub fn closed(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    through(bench, peer, &CLOSED)
}

/// Two proxies that are quicker than squid.
pub fn quicker(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let mut taken = Taken::default();
    for loads in &QUICKER {
        taken.values.extend(through(bench, peer, loads)?.values);
    }
    Ok(taken)
}

fn through(bench: &Bench, peer: &Found, loads: &Loads) -> io::Result<Taken> {
    let Loads(proxy, loads) = loads;
    let chain = Chain::to_pages(bench, peer, *proxy, &Under::Nothing)?;
    let time = Duration::from_millis(bench.either(200, 300));
    let mut values = Vec::new();
    for load in *loads {
        let mut gets = chain.gets(load.clients, load.connections)?;
        let until = match load.connections {
            // Whole lives of connections: a part would hold too many beginnings or too few ends.
            Limited => Until::Sent(100 * (load.clients as u64).max(bench.either(5, 10))),
            _ => Until::Elapsed(time),
        };
        if load.connections == Kept {
            // Opens the connections, too.
            let warm_up = Until::Elapsed(Duration::from_millis(100));
            gets.run(Pace::Closed, warm_up, &bench.stop)?;
        }
        let used = chain.tunnel().map(|tunnel| Used::begin(bench, tunnel.id));
        let used = used.transpose()?;
        let ran = gets.run(Pace::Closed, until, &bench.stop)?;
        let [first, cpu] = load.figures;
        values.push(match load.as_rate {
            true => (first, ran.rate()),
            false => (first, 1e3 * load.clients as f64 / ran.rate()),
        });
        if let Some(used) = used {
            values.push((cpu, used.seconds()? / ran.count as f64 * 1e6));
        }
    }
    Ok(Taken::values(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load of connections that last warms up, and the ends of those before fall into that.
    #[test]
    fn no_load_has_the_ends_of_connections_that_lasted_in_its_figures() {
        for Loads(proxy, loads) in [KEPT, CLOSED].iter().chain(&QUICKER) {
            for pair in loads.windows(2) {
                let is_clean = pair[0].connections != Kept || pair[1].connections == Kept;
                assert!(is_clean, "{proxy:?}: {:?}", pair[1].figures);
            }
        }
    }
}
