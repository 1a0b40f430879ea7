//! Plain relays side by side, ptunnel among them.

mod bulk;
mod counts;
mod memory;
mod program;
mod small;
mod start;
mod targets;

use crate::measure::{Group, Plan, Rig};
use crate::model::{less, more};

/// Figures of small requests at percents of what the slowest peer can carry.
macro_rules! at_rates {
    ($($at:literal),*) => { &[$(
        less(concat!("cpu-", $at), "µs", concat!("CPU per small request", of_capacity!($at))),
        less(concat!("busy-", $at), "%", concat!("share of its core", of_capacity!($at))),
        less(concat!("p50-", $at), "µs", concat!("latency, p50,", of_capacity!($at))),
        less(concat!("p90-", $at), "µs", concat!("latency, p90,", of_capacity!($at))),
        less(concat!("p99-", $at), "µs", concat!("latency, p99,", of_capacity!($at))),
        less(concat!("p99.9-", $at), "µs", concat!("latency, p99.9,", of_capacity!($at))),
        less(concat!("p99.99-", $at), "µs", concat!("latency, p99.99,", of_capacity!($at))),
    )*] };
}

macro_rules! of_capacity {
    ($at:literal) => {
        concat!(" at ", $at, " % of the slowest's capacity")
    };
}

macro_rules! bulk {
    ($($name:literal: $title:literal),*) => { &[$(
        more(concat!("bulk-", $name), "GiB/s", $title),
        less(concat!("bulk-", $name, "-cpu"), "s/GiB", concat!($title, ", CPU")),
        less(concat!("bulk-", $name, "-load"), "s/GiB", concat!($title, ", CPU of the load")),
    )*] };
}

pub const RIG: Rig = Rig {
    name: "relay",
    question: "Plain relays, ptunnel dialling directly among them: what carrying bytes costs.",
    plotted: &["cpu", "instructions", "bulk-download", "memory-10000"],
    targets: targets::TARGETS,
    groups: &[
        Group {
            name: "cpu",
            figures: &[
                less("cpu", "µs", "CPU per small request"),
                less("cpu-user", "µs", "CPU per small request, user"),
                less("cpu-system", "µs", "CPU per small request, system"),
                more("requests", "1/s", "small requests, 50 connections"),
            ],
            sample: small::closed_loop,
            quick: Plan::quick(2, 900, 20),
            full: Plan::full(9, 1_000, 210),
        },
        // The headline, which has more rounds than the others.
        Group {
            name: "rate-60",
            figures: at_rates!(60),
            sample: |bench, peer| small::at_rates(bench, peer, &[60.0]),
            quick: Plan::quick(1, 600, 15),
            full: Plan::full(9, 1_200, 180),
        },
        Group {
            name: "rates",
            figures: at_rates!(30, 90),
            sample: |bench, peer| small::at_rates(bench, peer, &[30.0, 90.0]),
            quick: Plan::quick(1, 900, 15),
            full: Plan::full(6, 2_200, 160),
        },
        Group {
            name: "wrk",
            figures: &[
                less("wrk-cpu", "µs", "CPU per small request, by wrk"),
                more("wrk-requests", "1/s", "small requests, by wrk"),
            ],
            sample: small::by_wrk,
            quick: Plan::quick(1, 1_300, 20),
            full: Plan::full(3, 1_300, 60),
        },
        Group {
            name: "instructions",
            figures: &[
                less("instructions", "Ir", "user instructions per small request"),
                less("allocations", "each", "allocations per small request"),
            ],
            sample: counts::instructions,
            quick: Plan::quick(1, 5_000, 45),
            full: Plan::full(1, 7_000, 120),
        },
        Group {
            name: "calls",
            figures: &[
                less("calls-io", "calls", "recv and send per message"),
                less("calls-other", "calls", "other system calls per message"),
            ],
            sample: counts::calls,
            quick: Plan::quick(1, 2_000, 25),
            full: Plan::full(1, 3_500, 60),
        },
        Group {
            name: "splice",
            figures: &[less(
                "bulk-copies",
                "calls",
                "recv and send per MiB of bulk",
            )],
            sample: counts::splice,
            quick: Plan::quick(1, 2_000, 10),
            full: Plan::full(1, 3_000, 90),
        },
        Group {
            name: "bulk",
            figures: bulk!("download": "bulk download", "upload": "bulk upload", "both": "bulk both ways"),
            sample: bulk::alone,
            quick: Plan::quick(2, 800, 20),
            full: Plan::full(9, 1_700, 345),
        },
        Group {
            name: "tunnels",
            figures: &[
                more("tunnels", "1/s", "new tunnels with one exchange"),
                less("tunnels-cpu", "µs", "CPU per new tunnel"),
            ],
            sample: small::new_tunnels,
            quick: Plan::quick(3, 800, 15),
            full: Plan::full(9, 800, 125),
        },
        Group {
            name: "ping",
            figures: &[
                less("ping-p50", "µs", "ping beside four bulk tunnels, p50"),
                less("ping-p99", "µs", "ping beside four bulk tunnels, p99"),
                less("ping-p99.9", "µs", "ping beside four bulk tunnels, p99.9"),
                more("ping-bulk", "GiB/s", "four bulk tunnels beside the ping"),
            ],
            sample: bulk::beside_ping,
            quick: Plan::quick(3, 1_000, 20),
            full: Plan::full(9, 1_800, 330),
        },
        Group {
            name: "memory",
            figures: &[
                less("memory-1000", "KiB", "memory per idle tunnel of 1,000"),
                less("memory-10000", "KiB", "memory per idle tunnel of 10,000"),
                less("descriptors", "each", "descriptors per idle tunnel"),
                less("pipe-ends", "each", "pipe ends held per idle tunnel"),
            ],
            sample: memory::sample,
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 18_000, 330),
        },
        Group {
            name: "start",
            figures: &[less("start", "ms", "cold start")],
            sample: start::sample,
            quick: Plan::quick(1, 100, 5),
            full: Plan::full(9, 100, 45),
        },
        Group {
            name: "program",
            figures: &[
                less("size", "KiB", "program without symbols"),
                less("lines", "each", "lines of the engine"),
                less("changed", "each", "lines changed from the rung below"),
                less("packages", "each", "packages in its tree"),
                less("build", "s", "release build from nothing"),
            ],
            sample: program::sample,
            quick: Plan::quick(1, 100, 5),
            full: Plan::full(1, 100, 5),
        },
    ],
    repeats: &[["cpu", "wrk-cpu"], ["requests", "wrk-requests"]],
    quick_note: Some(
        "memory: a quick run opens 200 and 1,000 tunnels where a full one opens 1,000 and 10,000",
    ),
};
