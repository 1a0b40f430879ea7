//! CPU per message and messages per second in a closed loop, by connections and threads.

use std::io;
use std::time::Duration;

use super::SIZE;
use crate::load::driver::Driver;
use crate::load::echo::Echo;
use crate::load::pace::{Pace, Until};
use crate::load::wrk::{wrk, Ask};
use crate::peers::{Found, Setup, Under};
use crate::rigs::{Bench, Taken};
use crate::tools::process::Cpu;

/// Descriptors that a server needs beside those of its connections.
const SPARE: usize = 200;
const WARM_UP: Until = Until::Elapsed(Duration::from_millis(200));

pub fn one(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, ["cpu-c1", "messages-c1"], 1, 1)
}

pub fn hundred(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, ["cpu-c100", "messages-c100"], 100, 1)
}

pub fn ten_thousand(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let figures = ["cpu-c10000", "messages-c10000"];
    let wanted = bench.either(1_000, 10_000);
    let connections = wanted.min(fitting(bench.descriptors));
    let mut taken = sample(bench, peer, figures, connections, 1)?;
    if connections < wanted {
        let text = format!(
            "{connections} connections instead of {wanted}: a process may have {} descriptors",
            bench.descriptors
        );
        taken.notes.push(text);
    }
    Ok(taken)
}

pub fn two_threads(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, ["cpu-c100-t2", "messages-c100-t2"], 100, 2)
}

fn sample(
    bench: &Bench,
    peer: &Found,
    [cpu, messages]: [&'static str; 2],
    connections: usize,
    threads: usize,
) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(threads), &Under::Nothing)?;
    let mut load = Driver::new(server.listen, connections, Echo::to_server(SIZE))?.connect()?;
    load.run(Pace::Closed, WARM_UP, &bench.stop)?;
    let time = Until::Elapsed(Duration::from_millis(bench.either(300, 600)));
    let (ran, used) = Cpu::during(server.id, || load.run(Pace::Closed, time, &bench.stop))?;
    // The server ends first: the closing states that linger are then its port's, which is new with each sample.
    drop(server);
    Ok(Taken::values(vec![
        (cpu, used.each(ran.count)),
        (messages, ran.rate()),
    ]))
}

/// The figure of a hundred connections, by another load generator.
pub fn by_wrk(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let ask = Ask::Echo(SIZE, &bench.folder);
    let (said, used) = Cpu::during(server.id, || wrk(server.listen, 100, ask))?;
    Ok(Taken::values(vec![
        ("wrk-cpu-c100", used.each(said.count)),
        ("wrk-messages-c100", said.rate),
    ]))
}

/// A connection takes one descriptor on each side.
fn fitting(descriptors: u64) -> usize {
    (descriptors as usize).saturating_sub(SPARE)
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn ten_thousand_connections_fit_usual_limits_and_no_less() {
        assert!(fitting(20_000) >= 10_000);
        assert_eq!(fitting(1_024), 824);
        assert_eq!(fitting(100), 0);
    }
}
