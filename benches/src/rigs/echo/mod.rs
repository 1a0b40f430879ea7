//! Echo servers side by side: the same small message there and back, on futures 0.1 and on what came after.

mod cpu;
mod figures;
mod tools;

use super::{Group, Plan, Rig};

/// Bytes of a message, as in the comparisons of the time.
const SIZE: usize = 100;

pub const RIG: Rig = Rig {
    name: "echo",
    question: "Echo servers, 100 bytes there and back: what futures 0.1 costs beside coroutines, async/await, threads and raw epoll.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "c1",
            figures: &["cpu-c1", "messages-c1"],
            sample: cpu::one,
            quick: Plan::quick(3, 700, 20),
            full: Plan::full(9, 1_000, 85),
        },
        Group {
            name: "c100",
            figures: &["cpu-c100", "messages-c100"],
            sample: cpu::hundred,
            quick: Plan::quick(2, 700, 20),
            full: Plan::full(9, 1_000, 100),
        },
        Group {
            name: "wrk",
            figures: &["wrk-cpu-c100", "wrk-messages-c100"],
            sample: cpu::by_wrk,
            quick: Plan::quick(1, 1_300, 20),
            full: Plan::full(3, 1_300, 50),
        },
        Group {
            name: "c10000",
            figures: &["cpu-c10000", "messages-c10000"],
            sample: cpu::ten_thousand,
            quick: Plan::quick(1, 1_500, 20),
            full: Plan::full(9, 3_000, 210),
        },
        Group {
            name: "c100-t2",
            figures: &["cpu-c100-t2", "messages-c100-t2"],
            sample: cpu::two_threads,
            quick: Plan::quick(3, 700, 20),
            full: Plan::full(9, 1_000, 80),
        },
        Group {
            name: "instructions",
            figures: &["instructions", "allocations"],
            sample: tools::instructions,
            quick: Plan::quick(1, 3_000, 30),
            full: Plan::full(1, 6_000, 60),
        },
        Group {
            name: "calls",
            figures: &["calls-io", "calls-other"],
            sample: tools::calls,
            quick: Plan::quick(1, 1_500, 20),
            full: Plan::full(1, 3_000, 40),
        },
    ],
    quick_note: Some("c10000: a quick run opens 1,000 connections where a full one opens 10,000"),
};
