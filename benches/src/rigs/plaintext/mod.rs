//! Plaintext servers side by side: `Hello, World!` by HTTP/1.1, pipelined and not.

mod conformance;
mod cpu;
mod figures;
mod instructions;

use super::{Group, Plan, Rig};

/// Connections of every figure that names no other number.
const CONNECTIONS: usize = 256;

pub const RIG: Rig = Rig {
    name: "plaintext",
    question: "Servers that say hello over HTTP/1.1, pipelined and not: what futures 0.1 costs beside bare mio, async/await, coroutines and other languages.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "rules",
            figures: &["rules-broken", "reply-bytes"],
            sample: conformance::in_the_clear,
            quick: Plan::quick(1, 2_800, 40),
            full: Plan::full(1, 2_800, 45),
        },
        Group {
            name: "depth1",
            figures: &["cpu-d1", "requests-d1"],
            sample: cpu::depth1,
            quick: Plan::quick(2, 900, 30),
            full: Plan::full(9, 2_700, 380),
        },
        Group {
            name: "depth16",
            figures: &["cpu-d16", "requests-d16"],
            sample: cpu::depth16,
            quick: Plan::quick(2, 900, 30),
            full: Plan::full(9, 2_700, 380),
        },
        Group {
            name: "depth32",
            figures: &["cpu-d32", "requests-d32"],
            sample: cpu::depth32,
            quick: Plan::quick(1, 700, 15),
            full: Plan::full(9, 1_000, 120),
        },
        Group {
            name: "c1024",
            figures: &["cpu-c1024", "requests-c1024"],
            sample: cpu::c1024,
            quick: Plan::quick(1, 900, 15),
            full: Plan::full(9, 1_000, 120),
        },
        Group {
            name: "wrk",
            figures: &["wrk-cpu-d1", "wrk-requests-d1"],
            sample: cpu::by_wrk,
            quick: Plan::quick(1, 1_300, 25),
            full: Plan::full(3, 2_300, 110),
        },
        Group {
            name: "instructions-d1",
            figures: &["instructions-d1", "allocations-d1"],
            sample: instructions::depth1,
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 6_000, 70),
        },
        Group {
            name: "instructions-d16",
            figures: &["instructions-d16", "allocations-d16"],
            sample: instructions::depth16,
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 6_000, 70),
        },
    ],
    quick_note: Some("a quick run warms JIT compilers up for 2 s at most, which is too short"),
};

pub const OVER_TLS: Rig = Rig {
    name: "plaintext-tls",
    question: "The same servers over TLS, where they have it: what is left of the differences.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS_OVER_TLS,
    groups: &[
        Group {
            name: "rules",
            figures: &["rules-broken", "reply-bytes"],
            sample: conformance::over_tls,
            quick: Plan::quick(1, 2_800, 20),
            full: Plan::full(1, 2_800, 20),
        },
        Group {
            name: "depth1",
            figures: &["cpu-d1", "requests-d1"],
            sample: cpu::tls_depth1,
            quick: Plan::quick(2, 1_500, 30),
            full: Plan::full(9, 2_300, 140),
        },
        Group {
            name: "depth16",
            figures: &["cpu-d16", "requests-d16"],
            sample: cpu::tls_depth16,
            quick: Plan::quick(2, 1_500, 30),
            full: Plan::full(9, 2_300, 140),
        },
    ],
    quick_note: RIG.quick_note,
};
