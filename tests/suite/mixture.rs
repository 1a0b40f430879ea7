//! Random traffic through one tunnel after the other, in one run of the program.
//!
//! A failure prints its seed:
//! `PTUNNEL_SEED=… cargo test --locked -p ptunnel-tests --test suite mixture::` repeats it.

use std::thread;

use crate::relay;
use support::ends::{Ends, Gate};
use support::traffic::{self, Dice, End, Plan};

const TUNNELS: u64 = 60;
/// Number of concurrent tunnels, so that some of them share a turn of the reactor.
const GROUP: u64 = 6;

#[test]
fn auto() {
    mix("auto");
}

#[test]
fn always() {
    mix("always");
}

#[test]
fn never() {
    mix("never");
}

fn mix(setting: &'static str) {
    let seed = traffic::seed();
    let mut dice = Dice::new(seed);
    let gate = Gate::open();
    let program = relay::start(&gate, setting);
    for first in (0..TUNNELS).step_by(GROUP as usize) {
        let runs: Vec<_> = (first..first + GROUP)
            .map(|number| {
                let (ends, dice) = (gate.join(&program), dice.fork());
                (number, thread::spawn(move || run(number, ends, dice)))
            })
            .collect();
        for (number, run) in runs {
            if run.join().is_err() {
                panic!(
                    "tunnel {} of PTUNNEL_SEED={}, --splice {}",
                    number, seed, setting
                );
            }
        }
    }
}

fn run(number: u64, ends: Ends, mut dice: Dice) {
    let (client, server) = match dice.below(10) {
        0 | 1 => (End::Reset, End::Orderly),
        2 => (End::Orderly, End::Reset),
        _ => (End::Orderly, End::Orderly),
    };
    let mut plan = |end| {
        let pieces = dice.below(25);
        let bytes = (0..pieces).map(|_| dice.size() as u64).sum();
        Plan { bytes, end }
    };
    let plans = (plan(client), plan(server));
    traffic::exchange(number, (ends.client, ends.server), plans, &mut dice);
}
