//! Where instructions and allocations go that no other rig counts: a new tunnel and a MiB of ptunnel and its rungs, and
//! one piece of work as a chain of combinators, as a hand-written future and as an async fn.

mod shares;
mod tunnel;
mod work;

use std::io;

use crate::measure::per_unit::{self, Life};
use crate::measure::{Bench, Group, Plan, Rig, Taken};
use crate::model::Beside::Limit;
use crate::model::Bound::AtMost;
use crate::model::{less, target, Target};

/// Instructions and allocations, in one round: counts don't vary as time does. `$sample` in milliseconds and `$budget` in
/// seconds are those of a quick run; a full one takes three times as long, and has four times the time.
macro_rules! group {
    ($name:literal, $per:literal, $take:expr, $sample:literal, $budget:literal) => {
        Group {
            name: $name,
            figures: &[
                less($name, "Ir", concat!("instructions per ", $per)),
                less(
                    concat!($name, "-allocations"),
                    "each",
                    concat!("allocations per ", $per),
                ),
            ],
            sample: $take,
            quick: Plan::quick(1, $sample, $budget),
            full: Plan::full(1, 3 * $sample, 4 * $budget),
        }
    };
}

/// Where the targets come from.
const ALLOCATIONS: &str =
    "the claim of futures 0.1: one allocation a task, none a combinator or a message";

const TARGETS: &[Target] = &[
    target("combinator-allocations", AtMost(0.00), Limit)
        .of("chain")
        .from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), Limit)
        .of("spawn-futures")
        .from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), Limit)
        .of("spawn-ptunnel")
        .from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), Limit)
        .of("spawn-core")
        .from(ALLOCATIONS),
    target("message-allocations", AtMost(0.00), Limit)
        .of("chain")
        .from(ALLOCATIONS),
    target("message-allocations", AtMost(0.00), Limit)
        .of("future")
        .from(ALLOCATIONS),
];

pub const RIG: Rig = Rig {
    name: "profile",
    question: "Instructions and allocations: what a handshake and a MiB cost each rung, and what a combinator costs beside \
               a hand-written future and an async fn.",
    plotted: &["handshake", "message", "combinator", "task-allocations"],
    targets: TARGETS,
    groups: &[
        group!("handshake", "new tunnel", tunnel::handshake, 5_000, 25),
        group!("mib-download", "MiB down", tunnel::download, 5_000, 25),
        group!("mib-upload", "MiB up", tunnel::upload, 5_000, 25),
        group!("message", "message of the same work", |b, p| work::take(b, p, "messages"), 1_500, 8),
        group!("connection", "connection of one message", |b, p| work::take(b, p, "connections"), 1_500, 8),
        group!("combinator", "combinator, or async fn", |b, p| work::take(b, p, "combinators"), 1_500, 8),
        group!("task", "task that waits once", |b, p| work::take(b, p, "tasks"), 1_500, 8),
        group!("wait", "wait of one task", |b, p| work::take(b, p, "waits"), 1_500, 8),
    ],
    repeats: &[],
    quick_note: None,
};

/// Both figures per unit of work, and the shares of the first.
fn profile(bench: &Bench, count: u64, life: Life) -> io::Result<Taken> {
    let Taken { values, parts } = per_unit::instructions(bench, count, life)?;
    let parts = shares::of(parts);
    Ok(Taken { values, parts })
}
