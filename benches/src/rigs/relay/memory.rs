//! Memory and descriptors per idle tunnel, after each carried bulk in both directions.

use std::io;
use std::thread;
use std::time::Duration;

use super::side::Side;
use crate::load::idle::Idle;
use crate::peers::Found;
use crate::rigs::{Bench, Taken};
use crate::tools::process::Held;

/// Descriptors that a relay needs beside those of its tunnels.
const SPARE: usize = 200;
/// Time for a relay to let go of what it holds.
const SETTLE: Duration = Duration::from_millis(1500);

/// What a quick run's columns hold.
pub const QUICK: &str =
    "memory: a quick run opens 200 and 1,000 tunnels where a full one opens 1,000 and 10,000";

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let bytes = bench.either(64 << 10, 1 << 18);
    let (few, many) = bench.either((200, 1_000), (1_000, 10_000));
    let most = most_tunnels(bench.descriptors, peer.spec.most_tunnels);
    let mut taken = Taken::default();
    if many > most {
        let text = format!(
            "{most} idle tunnels instead of {many}: {}",
            reason(bench.descriptors, peer)
        );
        taken.notes.push(text);
    }
    let side = Side::start(bench, peer)?;
    let mut idle = Idle::new(side.relay.listen, bytes);
    thread::sleep(Duration::from_millis(100));
    let empty = Held::of(side.relay.id)?;
    let mut held = Vec::new();
    for count in [few, many.min(most)] {
        idle.grow(count, &bench.pattern, &bench.stop)?;
        thread::sleep(SETTLE);
        held.push((count as f64, Held::of(side.relay.id)?));
    }
    let [(few, at_few), (many, at_many)] = held[..] else {
        return Err(io::Error::other("two counts make two measurements"));
    };
    let per_tunnel = |now: u64, before: u64, count: f64| (now as f64 - before as f64) / count;
    taken.values = vec![
        ("memory-1000", per_tunnel(at_few.kib, empty.kib, few)),
        ("memory-10000", per_tunnel(at_many.kib, empty.kib, many)),
    ];
    // Between the counts: what all tunnels share, such as a pool, is in both.
    let (below, at_below) = if many > few {
        (few, at_few)
    } else {
        (0.0, empty)
    };
    let slope = |above, at_below| per_tunnel(above, at_below, many - below);
    taken.values.push((
        "descriptors",
        slope(at_many.descriptors, at_below.descriptors),
    ));
    taken
        .values
        .push(("pipe-ends", slope(at_many.pipe_ends, at_below.pipe_ends)));
    Ok(taken)
}

/// Two descriptors a tunnel fit, and no more than the peer's own limit.
fn most_tunnels(descriptors: u64, own: Option<usize>) -> usize {
    let fit = (descriptors as usize).saturating_sub(SPARE) / 2;
    own.unwrap_or(usize::MAX).min(fit)
}

fn reason(descriptors: u64, peer: &Found) -> String {
    match peer.spec.most_tunnels {
        Some(own) if own <= most_tunnels(descriptors, None) => {
            "its entry in peers.toml says so".to_string()
        }
        _ => format!("a process may have {descriptors} descriptors, and a tunnel takes two"),
    }
}

#[cfg(test)]
mod tests {
    use super::most_tunnels;

    #[test]
    fn tunnels_fit_the_descriptors_and_the_peer() {
        assert_eq!(most_tunnels(20_000, None), 9_900);
        assert_eq!(most_tunnels(20_000, Some(1_000)), 1_000);
        assert_eq!(most_tunnels(100, None), 0);
    }
}
