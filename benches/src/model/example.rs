//! A run for tests.

use super::{less, more, Figure, Kind, Peer, Results};

pub const CPU: Figure = less("cpu", "µs", "CPU");
pub const RATE: Figure = more("rate", "1/s", "rate");

/// A run of the relay rig of three rounds, in which each peer has these values, once, twice and three times.
pub fn example(figures: &[Figure], peers: &[(&str, Kind, f64)]) -> Results {
    let mut results = Results {
        rig: "relay",
        date: "2030-01-02".to_string(),
        figures: figures.to_vec(),
        plotted: figures.iter().map(|f| f.name).collect(),
        ..Results::default()
    };
    for &(name, kind, value) in peers {
        results.peers.push(Peer {
            name: name.to_string(),
            kind,
            same_steps: true,
            ..Peer::default()
        });
        for round in 0..3 {
            let value = value * (1 + round) as f64;
            let values: Vec<_> = figures.iter().map(|f| (f.name, value)).collect();
            results.add(name, round, &values);
        }
    }
    results
}
