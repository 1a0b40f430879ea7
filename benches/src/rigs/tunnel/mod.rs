//! Tunnels through a proxy with CONNECT, ptunnel and its rungs among them: a page of nginx at their end.

mod ab;
mod chain;
mod samples;
mod targets;

use crate::measure::{Group, Plan, Rig};
use crate::model::{less, more};

/// Time and CPU of a request through squid: what becomes of a connection, by name and in words, and clients.
macro_rules! through_squid {
    ($($name:literal $words:literal $clients:literal),*) => { &[$(
        less(
            concat!("time-", $name, "-c", $clients),
            "ms",
            concat!("time per request, squid, ", $words, ", ", $clients, " clients"),
        ),
        less(
            concat!("cpu-", $name, "-c", $clients),
            "µs",
            concat!("CPU per request, squid, ", $words, ", ", $clients, " clients"),
        ),
    )*] };
}

pub const RIG: Rig = Rig {
    name: "tunnel",
    question: "Tunnels through an HTTP proxy to nginx: what a request, a new tunnel and a gigabyte cost on the way.",
    plotted: &["cpu-kept-c50", "tunnels-embedded", "bulk-download", "memory"],
    targets: targets::TARGETS,
    groups: &[
        Group {
            name: "kept",
            figures: through_squid!("kept" "kept" 5, "kept" "kept" 50),
            sample: samples::kept,
            quick: Plan::quick(1, 1_000, 20),
            full: Plan::full(9, 1_300, 220),
        },
        Group {
            name: "closed",
            figures: through_squid!(
                "100" "closed after 100" 5, "close" "closed" 5, "100" "closed after 100" 50, "close" "closed" 50
            ),
            sample: samples::closed,
            quick: Plan::quick(1, 2_000, 45),
            full: Plan::full(9, 2_200, 340),
        },
        Group {
            name: "proxies",
            figures: &[
                less("time-embedded", "ms", "time per request, embedded proxy, kept, 50 clients"),
                less("cpu-embedded", "µs", "CPU per request, embedded proxy, kept, 50 clients"),
                more("tunnels-embedded-c5", "1/s", "new tunnels with one request, embedded proxy, 5 clients"),
                less("tunnels-embedded-c5-cpu", "µs", "CPU per new tunnel, embedded proxy, 5 clients"),
                more("tunnels-embedded", "1/s", "new tunnels with one request, embedded proxy, 50 clients"),
                less("tunnels-embedded-cpu", "µs", "CPU per new tunnel, embedded proxy, 50 clients"),
                less("time-tinyproxy", "ms", "time per request, tinyproxy, kept, 50 clients"),
                less("cpu-tinyproxy", "µs", "CPU per request, tinyproxy, kept, 50 clients"),
                more("tunnels-tinyproxy", "1/s", "new tunnels with one request, tinyproxy"),
                less("tunnels-tinyproxy-cpu", "µs", "CPU per new tunnel, tinyproxy"),
            ],
            sample: samples::quicker,
            quick: Plan::quick(1, 2_500, 35),
            full: Plan::full(9, 3_100, 470),
        },
        Group {
            name: "ab",
            figures: &[
                less("ab-100", "ms", "ab, time per request, squid, closed after 100"),
                less("ab-close", "ms", "ab, time per request, squid, closed"),
            ],
            sample: ab::sample,
            quick: Plan::quick(1, 2_500, 20),
            full: Plan::full(3, 3_000, 120),
        },
        Group {
            name: "bulk",
            figures: &[
                more("bulk-download", "GiB/s", "bulk download"),
                less("bulk-download-cpu", "s/GiB", "bulk download, CPU"),
                more("bulk-upload", "GiB/s", "bulk upload"),
                less("bulk-upload-cpu", "s/GiB", "bulk upload, CPU"),
            ],
            sample: samples::bulk_both,
            quick: Plan::quick(1, 500, 10),
            full: Plan::full(3, 900, 40),
        },
        Group {
            name: "memory",
            figures: &[less("memory", "KiB", "memory per idle tunnel of 1,000")],
            sample: samples::memory,
            quick: Plan::quick(1, 2_500, 30),
            full: Plan::full(1, 4_500, 65),
        },
        Group {
            name: "calls",
            figures: &[
                less("calls-io", "calls", "recv and send per message"),
                less("calls-other", "calls", "other system calls per message"),
                less("calls-tunnel", "calls", "system calls per new tunnel with one request"),
            ],
            sample: samples::calls,
            quick: Plan::quick(1, 3_000, 35),
            full: Plan::full(1, 5_000, 75),
        },
    ],
    repeats: &[["time-100-c5", "ab-100"], ["time-close-c5", "ab-close"]],
    quick_note: Some("memory: a quick run opens 100 tunnels where a full one opens 1,000"),
};
