//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{shown, target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("cpu", "µs", "CPU per small request", true),
    figure("cpu-user", "µs", "CPU per small request, user", true),
    figure("cpu-system", "µs", "CPU per small request, system", true),
    figure("requests", "1/s", "small requests, 50 connections", false),
    figure(
        "cpu-30",
        "µs",
        "CPU per small request at 30 % of the slowest's capacity",
        true,
    ),
    figure(
        "busy-30",
        "%",
        "share of its core at 30 % of the slowest's capacity",
        true,
    ),
    figure(
        "p50-30",
        "µs",
        "latency at 30 % of the slowest's capacity, p50",
        true,
    ),
    figure(
        "p90-30",
        "µs",
        "latency at 30 % of the slowest's capacity, p90",
        true,
    ),
    figure(
        "p99-30",
        "µs",
        "latency at 30 % of the slowest's capacity, p99",
        true,
    ),
    figure(
        "p99.9-30",
        "µs",
        "latency at 30 % of the slowest's capacity, p99.9",
        true,
    ),
    figure(
        "p99.99-30",
        "µs",
        "latency at 30 % of the slowest's capacity, p99.99",
        true,
    ),
    figure(
        "cpu-60",
        "µs",
        "CPU per small request at 60 % of the slowest's capacity",
        true,
    ),
    figure(
        "busy-60",
        "%",
        "share of its core at 60 % of the slowest's capacity",
        true,
    ),
    figure(
        "p50-60",
        "µs",
        "latency at 60 % of the slowest's capacity, p50",
        true,
    ),
    figure(
        "p90-60",
        "µs",
        "latency at 60 % of the slowest's capacity, p90",
        true,
    ),
    figure(
        "p99-60",
        "µs",
        "latency at 60 % of the slowest's capacity, p99",
        true,
    ),
    figure(
        "p99.9-60",
        "µs",
        "latency at 60 % of the slowest's capacity, p99.9",
        true,
    ),
    figure(
        "p99.99-60",
        "µs",
        "latency at 60 % of the slowest's capacity, p99.99",
        true,
    ),
    figure(
        "cpu-90",
        "µs",
        "CPU per small request at 90 % of the slowest's capacity",
        true,
    ),
    figure(
        "busy-90",
        "%",
        "share of its core at 90 % of the slowest's capacity",
        true,
    ),
    figure(
        "p50-90",
        "µs",
        "latency at 90 % of the slowest's capacity, p50",
        true,
    ),
    figure(
        "p90-90",
        "µs",
        "latency at 90 % of the slowest's capacity, p90",
        true,
    ),
    figure(
        "p99-90",
        "µs",
        "latency at 90 % of the slowest's capacity, p99",
        true,
    ),
    figure(
        "p99.9-90",
        "µs",
        "latency at 90 % of the slowest's capacity, p99.9",
        true,
    ),
    figure(
        "p99.99-90",
        "µs",
        "latency at 90 % of the slowest's capacity, p99.99",
        true,
    ),
    figure("wrk-cpu", "µs", "CPU per small request, by wrk", true),
    figure(
        "wrk-requests",
        "1/s",
        "small requests, 50 connections, by wrk",
        false,
    ),
    figure(
        "instructions",
        "Ir",
        "user instructions per small request",
        true,
    ),
    figure("allocations", "each", "allocations per small request", true),
    figure("calls-io", "calls", "recv and send per message", true),
    figure(
        "calls-other",
        "calls",
        "other system calls per message",
        true,
    ),
    figure(
        "bulk-copies",
        "calls",
        "recv and send per MiB of bulk",
        true,
    ),
    figure("bulk-download", "GiB/s", "bulk download", false),
    figure("bulk-upload", "GiB/s", "bulk upload", false),
    figure("bulk-both", "GiB/s", "bulk, both directions at once", false),
    figure("bulk-download-cpu", "s/GiB", "bulk download, CPU", true),
    figure("bulk-upload-cpu", "s/GiB", "bulk upload, CPU", true),
    figure("bulk-both-cpu", "s/GiB", "bulk, both directions, CPU", true),
    figure(
        "bulk-download-load",
        "s/GiB",
        "bulk download, CPU of the load",
        true,
    ),
    figure(
        "bulk-upload-load",
        "s/GiB",
        "bulk upload, CPU of the load",
        true,
    ),
    figure(
        "bulk-both-load",
        "s/GiB",
        "bulk, both directions, CPU of the load",
        true,
    ),
    figure(
        "memory-1000",
        "KiB",
        "memory per idle tunnel of 1,000",
        true,
    ),
    figure(
        "memory-10000",
        "KiB",
        "memory per idle tunnel of 10,000",
        true,
    ),
    figure("descriptors", "each", "descriptors per idle tunnel", true),
    figure("pipe-ends", "each", "pipe ends held per idle tunnel", true),
    figure("tunnels", "1/s", "new tunnels with one exchange", false),
    figure("tunnels-cpu", "µs", "CPU per new tunnel", true),
    figure("ping-p50", "µs", "ping beside four bulk tunnels, p50", true),
    figure("ping-p99", "µs", "ping beside four bulk tunnels, p99", true),
    figure(
        "ping-p99.9",
        "µs",
        "ping beside four bulk tunnels, p99.9",
        true,
    ),
    figure(
        "ping-bulk",
        "GiB/s",
        "the four bulk tunnels beside the ping",
        false,
    ),
    figure("start", "ms", "cold start", true),
    figure("size", "KiB", "program without symbols", true),
    figure("lines", "each", "lines of the engine", true),
    figure("changed", "each", "lines changed from the rung below", true),
    figure("packages", "each", "packages in its tree", true),
    figure("build", "s", "release build from nothing", true),
];

pub const PLOTTED: &[&str] = &[
    "cpu",
    "instructions",
    "calls-other",
    "bulk-download",
    "bulk-upload",
    "bulk-both",
    "memory-10000",
    "tunnels",
    "ping-p99",
];

use Against::{EachOfSameSteps, EachThatSplices, Itself, Pair, Peer};
use Bound::{AtLeast, AtMost};

/// Where targets come from.
const PARITY: &str = "promise: carrying bytes costs no more than in a relay that does only that";
const AWAIT: &str = "promise: futures 0.1 costs no more than the same tunnel on async/await";
const SPLICE: &str = "promise: at most a tenth more than the best relay that splices";
const ALLOCATIONS: &str = "the claim of futures 0.1: a message allocates nothing";
const CALLS: &str = "what a message needs: a receive and a send, and a share of epoll";
const IDLE: &str = "promise of README: two descriptors";
const LADDER: &str = "compat/ladder: a half-way rung costs no more than its end";

pub const TARGETS: &[Target] = &[
    target("cpu-60", AtMost(1.00), Peer("tokio"))
        .or("cpu")
        .from(PARITY),
    target("cpu-60", AtMost(1.00), Peer("haproxy"))
        .or("cpu")
        .from(PARITY),
    target("cpu-60", AtMost(1.00), Peer("r5"))
        .or("cpu")
        .from(AWAIT),
    target("cpu", AtMost(1.05), Pair("r3", "r5")).from(LADDER),
    target("instructions", AtMost(1.00), Peer("tokio")).from(PARITY),
    target("allocations", AtMost(0.00), Itself).from(ALLOCATIONS),
    target("calls-io", AtMost(2.00), Itself).from(CALLS),
    target("calls-other", AtMost(0.20), Itself).from(CALLS),
    target("bulk-download-cpu", AtMost(1.10), EachThatSplices).from(SPLICE),
    target("bulk-upload-cpu", AtMost(1.10), EachThatSplices).from(SPLICE),
    target("bulk-both-cpu", AtMost(1.10), EachThatSplices).from(SPLICE),
    target("descriptors", AtMost(2.00), Itself).from(IDLE),
    target("pipe-ends", AtMost(0.00), Itself).from(IDLE),
    target("tunnels", AtLeast(1.00), EachOfSameSteps).from(PARITY),
    target("ping-p50", AtMost(1.00), Peer("r5")).from(AWAIT),
    target("ping-p50", AtMost(1.00), Peer("tokio")).from(PARITY),
    target("ping-p99", AtMost(1.00), Peer("r5")).from(AWAIT),
    target("ping-p99", AtMost(1.00), Peer("tokio")).from(PARITY),
    shown("cpu", "r0"),
    shown("cpu", "relay-core"),
];
