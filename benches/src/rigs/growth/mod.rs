//! Growth: what a request costs, how long it waits and what a tunnel holds, from ten tunnels to ten thousand.

mod figures;
mod kernel;
mod samples;

use super::{Group, Plan, Rig};

pub const RIG: Rig = Rig {
    name: "growth",
    question: "Plain relays with ten tunnels to ten thousand, all or few of them active: what growing costs.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "active",
            figures: &[
                "cpu-10", "cpu-100", "cpu-1000", "cpu-10000", "p50-10", "p50-100", "p50-1000",
                "p50-10000", "p99-10", "p99-100", "p99-1000", "p99-10000", "growth",
            ],
            sample: samples::active,
            quick: Plan::quick(1, 4_000, 30),
            full: Plan::full(9, 5_000, 340),
        },
        Group {
            name: "few",
            figures: &[
                "few-cpu-10", "few-cpu-100", "few-cpu-1000", "few-cpu-10000", "few-p99-10",
                "few-p99-100", "few-p99-1000", "few-p99-10000",
            ],
            sample: samples::few_active,
            quick: Plan::quick(1, 4_000, 30),
            full: Plan::full(3, 5_000, 120),
        },
        Group {
            name: "memory",
            figures: &["memory-1000", "memory-10000", "kernel-1000", "kernel-10000"],
            sample: samples::memory,
            quick: Plan::quick(1, 3_000, 20),
            full: Plan::full(9, 7_000, 450),
        },
        Group {
            name: "threads",
            figures: &["cpu-t1", "requests-t1", "cpu-t2", "requests-t2", "threads"],
            sample: samples::threads,
            quick: Plan::quick(1, 2_000, 10),
            full: Plan::full(9, 2_500, 80),
        },
    ],
    quick_note: Some("a quick run has 1,000 tunnels where a full one has 10,000"),
};
