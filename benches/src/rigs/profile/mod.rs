//! Where instructions and allocations go that no other rig counts: a new tunnel and a MiB of ptunnel and its rungs, and
//! one piece of work as a chain of combinators, as a hand-written future and as an async fn.

mod figures;
mod shares;
mod tunnel;
mod work;

use std::io;

use super::lives::{self, Life};
use super::{Bench, Group, Plan, Rig, Taken};

pub const RIG: Rig = Rig {
    name: "profile",
    question: "Instructions and allocations: what a handshake and a MiB cost each rung, and what a combinator costs beside \
               a hand-written future and an async fn.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        group(&["handshake", "handshake-allocations"], tunnel::handshake, 5_000, 25),
        group(&["mib-download", "mib-download-allocations"], tunnel::download, 5_000, 25),
        group(&["mib-upload", "mib-upload-allocations"], tunnel::upload, 5_000, 25),
        group(&["message", "message-allocations"], work::message, 1_500, 8),
        group(&["connection", "connection-allocations"], work::connection, 1_500, 8),
        group(&["combinator", "combinator-allocations"], work::combinator, 1_500, 8),
        group(&["task", "task-allocations"], work::task, 1_500, 8),
        group(&["wait", "wait-allocations"], work::wait, 1_500, 8),
    ],
    quick_note: None,
};

/// One round: counts of instructions and allocations don't vary as time does. `sample` in milliseconds and `budget` in
/// seconds are those of a quick run; a full one takes three times as long, and has four times the time.
const fn group(
    figures: &'static [&'static str; 2],
    sample: fn(&Bench, &crate::peers::Found) -> io::Result<Taken>,
    quick: u64,
    budget: u64,
) -> Group {
    Group {
        name: figures[0],
        figures,
        sample,
        quick: Plan::quick(1, quick, budget),
        full: Plan::full(1, 3 * quick, 4 * budget),
    }
}

/// Both figures per unit of work, and the shares of the first.
fn profile(
    bench: &Bench,
    [figure, allocations]: [&'static str; 2],
    count: u64,
    life: Life,
) -> io::Result<Taken> {
    let each = lives::each(bench, count, life)?;
    Ok(Taken {
        values: vec![(figure, each.instructions), (allocations, each.allocations)],
        parts: Some((figure, shares::of(each.functions))),
        notes: Vec::new(),
    })
}
