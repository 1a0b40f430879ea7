//! The articles' load, ApacheBench with five clients, as a second opinion on the rig's own load.

use std::io;
use std::time::Duration;

use super::chain::{Chain, Connections};
use crate::load::ab::Ab;
use crate::load::pace::{Pace, Until};
use crate::measure::{Bench, Taken};
use crate::peers::{Found, Under};

const CLIENTS: usize = 5;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let chain = Chain::to_pages(bench, peer, "squid", &Under::Nothing)?;
    let time = Duration::from_millis(bench.either(200, 800));
    let mut values = Vec::new();
    for (connections, least) in [
        // Each client meets the origin's limit of a hundred once.
        (Connections::Limited, 100 * CLIENTS as u64),
        (Connections::Closed, CLIENTS as u64),
    ] {
        let ab = Ab {
            // Without a tunnel ab asks the proxy for the page itself, as the articles had it.
            to: chain.asked.map_or(chain.address, |_| chain.target),
            proxy: chain.asked,
            path: connections.path(),
            clients: CLIENTS,
            requests: fitting(bench, &chain, connections, time)?.max(least),
            keep_alive: connections != Connections::Closed,
        };
        bench.stop.check()?;
        values.push(ab.run()?);
    }
    Ok(Taken::of(values))
}

/// The number of requests that take about so long, whole rounds of all clients: ab needs a number.
fn fitting(
    bench: &Bench,
    chain: &Chain,
    connections: Connections,
    time: Duration,
) -> io::Result<u64> {
    let mut gets = chain.gets(CLIENTS, connections)?;
    let trial = Until::Elapsed(Duration::from_millis(50));
    let ran = gets.run(Pace::Closed, trial, &bench.stop)?;
    Ok(whole_rounds(ran.rate(), time))
}

fn whole_rounds(rate: f64, time: Duration) -> u64 {
    let fit = rate * time.as_secs_f64();
    (fit as u64).div_ceil(CLIENTS as u64) * CLIENTS as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_tunnel_gets_few_requests_and_every_client_as_many() {
        let s = Duration::from_secs;
        assert_eq!(whole_rounds(5.0, s(1)), 5);
        assert_eq!(whole_rounds(6.0, s(1)), 10);
        assert_eq!(whole_rounds(1_000.0, s(2)), 2_000);
    }
}
