//! Plaintext servers side by side: `Hello, World!` by HTTP/1.1, pipelined and not.

mod conformance;
mod samples;
mod targets;

use crate::measure::{Group, Plan, Rig};
use crate::model::{less, more, Figure};

/// Connections of every figure that names no other number.
const CONNECTIONS: usize = 256;

const RULES: &[Figure] = &[
    less("rules-broken", "rules", "rules broken"),
    less("reply-bytes", "bytes", "bytes of a reply"),
];
const DEPTH1: &[Figure] = &[
    less("cpu-d1", "µs", "CPU per request, one at a time"),
    more("requests-d1", "1/s", "requests, one at a time"),
];
const DEPTH16: &[Figure] = &[
    less("cpu-d16", "µs", "CPU per request, 16 pipelined"),
    more("requests-d16", "1/s", "requests, 16 pipelined"),
];

pub const RIG: Rig = Rig {
    name: "plaintext",
    question: "Servers that say hello over HTTP/1.1, pipelined and not: what futures 0.1 costs beside bare mio, async/await, coroutines and other languages.",
    plotted: &["cpu-d1", "cpu-d16", "instructions-d1"],
    targets: targets::TARGETS,
    groups: &[
        Group {
            name: "rules",
            figures: RULES,
            sample: conformance::in_the_clear,
            quick: Plan::quick(1, 2_800, 40),
            full: Plan::full(1, 2_800, 45),
        },
        Group {
            name: "depth1",
            figures: DEPTH1,
            sample: |bench, peer| samples::in_the_clear(bench, peer, CONNECTIONS, 1),
            quick: Plan::quick(2, 900, 30),
            full: Plan::full(9, 2_700, 380),
        },
        Group {
            name: "depth16",
            figures: DEPTH16,
            sample: |bench, peer| samples::in_the_clear(bench, peer, CONNECTIONS, 16),
            quick: Plan::quick(2, 900, 30),
            full: Plan::full(9, 2_700, 380),
        },
        Group {
            name: "depth32",
            figures: &[
                less("cpu-d32", "µs", "CPU per request, 32 pipelined"),
                more("requests-d32", "1/s", "requests, 32 pipelined"),
            ],
            sample: |bench, peer| samples::in_the_clear(bench, peer, CONNECTIONS, 32),
            quick: Plan::quick(1, 700, 15),
            full: Plan::full(9, 1_000, 120),
        },
        Group {
            name: "c1024",
            figures: &[
                less("cpu-c1024", "µs", "CPU per request, 16 pipelined, 1,024 connections"),
                more("requests-c1024", "1/s", "requests, 16 pipelined, 1,024 connections"),
            ],
            sample: |bench, peer| samples::in_the_clear(bench, peer, 1024, 16),
            quick: Plan::quick(1, 900, 15),
            full: Plan::full(9, 1_000, 120),
        },
        Group {
            name: "wrk",
            figures: &[
                less("wrk-cpu-d1", "µs", "CPU per request, by wrk"),
                more("wrk-requests-d1", "1/s", "requests, by wrk"),
            ],
            sample: samples::by_wrk,
            quick: Plan::quick(1, 1_300, 25),
            full: Plan::full(3, 2_300, 110),
        },
        Group {
            name: "instructions-d1",
            figures: &[
                less("instructions-d1", "Ir", "user instructions per request, one at a time"),
                less("allocations-d1", "each", "allocations per request, one at a time"),
            ],
            sample: |bench, peer| {
                samples::instructions(bench, peer, bench.either(3_000, 10_000), 1)
            },
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 6_000, 70),
        },
        Group {
            name: "instructions-d16",
            figures: &[
                less("instructions-d16", "Ir", "user instructions per request, 16 pipelined"),
                less("allocations-d16", "each", "allocations per request, 16 pipelined"),
            ],
            sample: |bench, peer| {
                samples::instructions(bench, peer, bench.either(16_384, 65_536), 16)
            },
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 6_000, 70),
        },
    ],
    repeats: &[["cpu-d1", "wrk-cpu-d1"], ["requests-d1", "wrk-requests-d1"]],
    quick_note: Some("a quick run warms JIT compilers up for 2 s at most, which is too short"),
};

pub const OVER_TLS: Rig = Rig {
    name: "plaintext-tls",
    question: "The same servers over TLS, where they have it: what is left of the differences.",
    plotted: &["cpu-d1", "cpu-d16"],
    targets: targets::OVER_TLS,
    groups: &[
        Group {
            name: "rules",
            figures: RULES,
            sample: conformance::over_tls,
            quick: Plan::quick(1, 2_800, 20),
            full: Plan::full(1, 2_800, 20),
        },
        Group {
            name: "depth1",
            figures: DEPTH1,
            sample: |bench, peer| samples::over_tls(bench, peer, 1),
            quick: Plan::quick(2, 1_500, 30),
            full: Plan::full(9, 2_300, 140),
        },
        Group {
            name: "depth16",
            figures: DEPTH16,
            sample: |bench, peer| samples::over_tls(bench, peer, 16),
            quick: Plan::quick(2, 1_500, 30),
            full: Plan::full(9, 2_300, 140),
        },
    ],
    repeats: &[],
    quick_note: RIG.quick_note,
};
