//! Echo servers side by side: the same small message there and back, on futures 0.1 and on what came after.

mod samples;

use crate::measure::{Group, Plan, Rig};
use crate::model::Beside::{Limit, Peer};
use crate::model::Bound::AtMost;
use crate::model::{less, more, shown, target, Target};

const CPU: &str = "cpu-c1 cpu-c100 cpu-c10000 cpu-c100-t2";
/// The same future on ptunnel's sockets and run queue, which no program of the time had.
const REACTOR: &str = "ptunnel-reactor";

/// Where the targets come from.
const ARTICLE: &str =
    "the article that had May 1.33 times ahead of tokio-core, with other threads on both sides";
const ALLOCATIONS: &str = "the claim of futures 0.1: a message allocates nothing";

const TARGETS: &[Target] = &[
    target(CPU, AtMost(1.00), Peer("may")).from(ARTICLE),
    target(CPU, AtMost(1.00), Peer("may"))
        .of(REACTOR)
        .from(ARTICLE),
    target("allocations", AtMost(0.00), Limit).from(ALLOCATIONS),
    shown("cpu-c100", REACTOR),
    shown("cpu-c100", "tokio-core-0.1.18"),
    shown("cpu-c100", "tokio-core-drop-in"),
    shown("cpu-c100", "tokio"),
    shown("cpu-c100", "epoll"),
];

pub const RIG: Rig = Rig {
    name: "echo",
    question: "Echo servers, 100 bytes there and back: what futures 0.1 costs beside coroutines, async/await, threads and raw epoll.",
    plotted: &["cpu-c1", "cpu-c100", "cpu-c10000", "instructions"],
    targets: TARGETS,
    groups: &[
        Group {
            name: "c1",
            figures: &[
                less("cpu-c1", "µs", "CPU per message, 1 connection"),
                more("messages-c1", "1/s", "messages, 1 connection"),
            ],
            sample: |bench, peer| samples::closed_loop(bench, peer, 1, 1),
            quick: Plan::quick(3, 700, 20),
            full: Plan::full(9, 1_000, 85),
        },
        Group {
            name: "c100",
            figures: &[
                less("cpu-c100", "µs", "CPU per message, 100 connections"),
                more("messages-c100", "1/s", "messages, 100 connections"),
            ],
            sample: |bench, peer| samples::closed_loop(bench, peer, 100, 1),
            quick: Plan::quick(2, 700, 20),
            full: Plan::full(9, 1_000, 100),
        },
        Group {
            name: "wrk",
            figures: &[
                less("wrk-cpu-c100", "µs", "CPU per message, by wrk"),
                more("wrk-messages-c100", "1/s", "messages, by wrk"),
            ],
            sample: samples::by_wrk,
            quick: Plan::quick(1, 1_300, 20),
            full: Plan::full(3, 1_300, 50),
        },
        Group {
            name: "c10000",
            figures: &[
                less("cpu-c10000", "µs", "CPU per message, 10,000 connections"),
                more("messages-c10000", "1/s", "messages, 10,000 connections"),
            ],
            sample: samples::ten_thousand,
            quick: Plan::quick(1, 1_500, 20),
            full: Plan::full(9, 3_000, 210),
        },
        Group {
            name: "c100-t2",
            figures: &[
                less("cpu-c100-t2", "µs", "CPU per message, 100 connections, 2 threads"),
                more("messages-c100-t2", "1/s", "messages, 100 connections, 2 threads"),
            ],
            sample: |bench, peer| samples::closed_loop(bench, peer, 100, 2),
            quick: Plan::quick(3, 700, 20),
            full: Plan::full(9, 1_000, 80),
        },
        Group {
            name: "instructions",
            figures: &[
                less("instructions", "Ir", "user instructions per message"),
                less("allocations", "each", "allocations per message"),
            ],
            sample: samples::instructions,
            quick: Plan::quick(1, 3_000, 30),
            full: Plan::full(1, 6_000, 60),
        },
        Group {
            name: "calls",
            figures: &[
                less("calls-io", "calls", "recv and send per message"),
                less("calls-other", "calls", "other system calls per message"),
            ],
            sample: samples::calls,
            quick: Plan::quick(1, 1_500, 20),
            full: Plan::full(1, 3_000, 40),
        },
    ],
    repeats: &[["cpu-c100", "wrk-cpu-c100"], ["messages-c100", "wrk-messages-c100"]],
    quick_note: Some("c10000: a quick run opens 1,000 connections where a full one opens 10,000"),
};
