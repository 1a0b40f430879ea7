//! Plain relays side by side, ptunnel among them.

mod bulk;
mod calls;
mod cpu;
mod figures;
mod instructions;
mod memory;
mod ping;
mod program;
mod rates;
mod side;
mod splice;
mod start;
mod tunnels;
mod wrk;

use super::{Group, Plan, Rig};

/// The group of figures that say what a program consists of.
pub const PROGRAM: &str = "program";

pub const RIG: Rig = Rig {
    name: "relay",
    question: "Plain relays, ptunnel dialling directly among them: what carrying bytes costs.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "cpu",
            figures: &["cpu", "cpu-user", "cpu-system", "requests"],
            sample: cpu::sample,
            quick: Plan::quick(2, 900, 20),
            full: Plan::full(9, 1_000, 210),
        },
        Group {
            name: "rate-60",
            figures: &[
                "cpu-60",
                "busy-60",
                "p50-60",
                "p90-60",
                "p99-60",
                "p99.9-60",
                "p99.99-60",
            ],
            sample: rates::sixty,
            quick: Plan::quick(1, 600, 15),
            full: Plan::full(9, 1_200, 180),
        },
        Group {
            name: "rates",
            figures: &[
                "cpu-30",
                "busy-30",
                "p50-30",
                "p90-30",
                "p99-30",
                "p99.9-30",
                "p99.99-30",
                "cpu-90",
                "busy-90",
                "p50-90",
                "p90-90",
                "p99-90",
                "p99.9-90",
                "p99.99-90",
            ],
            sample: rates::others,
            quick: Plan::quick(1, 900, 15),
            full: Plan::full(6, 2_200, 160),
        },
        Group {
            name: "wrk",
            figures: &["wrk-cpu", "wrk-requests"],
            sample: wrk::sample,
            quick: Plan::quick(1, 1_300, 20),
            full: Plan::full(3, 1_300, 60),
        },
        Group {
            name: "instructions",
            figures: &["instructions", "allocations"],
            sample: instructions::sample,
            quick: Plan::quick(1, 5_000, 45),
            full: Plan::full(1, 7_000, 120),
        },
        Group {
            name: "calls",
            figures: &["calls-io", "calls-other"],
            sample: calls::sample,
            quick: Plan::quick(1, 2_000, 25),
            full: Plan::full(1, 3_500, 60),
        },
        Group {
            name: "splice",
            figures: &["bulk-copies"],
            sample: splice::sample,
            quick: Plan::quick(1, 2_000, 10),
            full: Plan::full(1, 3_000, 90),
        },
        Group {
            name: "bulk",
            figures: &[
                "bulk-download",
                "bulk-download-cpu",
                "bulk-download-load",
                "bulk-upload",
                "bulk-upload-cpu",
                "bulk-upload-load",
                "bulk-both",
                "bulk-both-cpu",
                "bulk-both-load",
            ],
            sample: bulk::sample,
            quick: Plan::quick(2, 800, 20),
            full: Plan::full(9, 1_700, 345),
        },
        Group {
            name: "tunnels",
            figures: &["tunnels", "tunnels-cpu"],
            sample: tunnels::sample,
            quick: Plan::quick(3, 800, 15),
            full: Plan::full(9, 800, 125),
        },
        Group {
            name: "ping",
            figures: &["ping-p50", "ping-p99", "ping-p99.9", "ping-bulk"],
            sample: ping::sample,
            quick: Plan::quick(3, 1_000, 20),
            full: Plan::full(9, 1_800, 330),
        },
        Group {
            name: "memory",
            figures: &["memory-1000", "memory-10000", "descriptors", "pipe-ends"],
            sample: memory::sample,
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 18_000, 330),
        },
        Group {
            name: "start",
            figures: &["start"],
            sample: start::sample,
            quick: Plan::quick(1, 100, 5),
            full: Plan::full(9, 100, 45),
        },
        Group {
            name: PROGRAM,
            figures: &["size", "lines", "changed", "packages", "build"],
            sample: program::sample,
            quick: Plan::quick(1, 100, 5),
            full: Plan::full(1, 100, 5),
        },
    ],
    quick_note: Some(memory::QUICK),
};
