//! What every sample needs, and what it gives.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::load::pattern::Pattern;
use crate::load::requests::{Requests, Until};
use crate::load::server::Server;
use crate::peers::{Found, Running, Under};
use crate::report::results::Part;
use crate::stop::Stop;
use crate::tools::machine::Cores;
use crate::tools::process::census;

/// Connections of the figures for small requests.
pub const CONNECTIONS: usize = 50;
/// Processes under callgrind write their files as they end, and that takes a while.
const CLOSES_WITHIN: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub struct Bench {
    pub quick: bool,
    pub cores: Option<Cores>,
    pub descriptors: u64,
    pub folder: PathBuf,
    pub pattern: Pattern,
    pub stop: Stop,
}

/// A fresh relay in front of a fresh server. The relay ends first.
#[derive(Debug)]
pub struct Side {
    pub relay: Running,
    pub server: Server,
}

impl Bench {
    pub fn start(&self, peer: &Found) -> io::Result<Side> {
        self.start_under(peer, &Under::Nothing, false)
    }

    /// With `first`, the server answers small messages before it does anything else.
    pub fn start_under(&self, peer: &Found, under: &Under, first: bool) -> io::Result<Side> {
        let server = Server::start(first)?;
        let relay = Running::start(peer, server.address, under, &self.folder, self.cores)?;
        Ok(Side { relay, server })
    }

    /// One of two values, by the kind of run.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.quick {
            quick
        } else {
            full
        }
    }
}

impl Side {
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

/// What one sample found.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub values: Vec<(&'static str, f64)>,
    pub parts: Option<(&'static str, Vec<Part>)>,
    pub notes: Vec<String>,
}

impl Taken {
    pub fn values(values: Vec<(&'static str, f64)>) -> Taken {
        Taken {
            values,
            ..Taken::default()
        }
    }
}

/// The parts of a figure per unit of work, from counts of a run and of one twice as long: the dearest first.
pub fn parts_of_difference(
    once: &std::collections::BTreeMap<String, u64>,
    twice: &std::collections::BTreeMap<String, u64>,
    units: f64,
) -> Vec<Part> {
    let mut parts: Vec<Part> = twice
        .iter()
        .map(|(name, &count)| {
            let before = once.get(name).copied().unwrap_or(0);
            Part {
                name: name.clone(),
                value: (count as f64 - before as f64) / units,
            }
        })
        .filter(|part| part.value > 0.0)
        .collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_the_longer_run_adds() {
        let counts =
            |entries: &[(&str, u64)]| entries.iter().map(|&(n, c)| (n.to_string(), c)).collect();
        let once = counts(&[("start", 900), ("poll", 150), ("recv", 100)]);
        let twice = counts(&[("start", 900), ("poll", 250), ("recv", 300), ("new", 50)]);
        let parts = parts_of_difference(&once, &twice, 100.0);
        let names: Vec<(&str, f64)> = parts.iter().map(|p| (p.name.as_str(), p.value)).collect();
        assert_eq!(names, [("recv", 2.0), ("poll", 1.0), ("new", 0.5)]);
    }
}
