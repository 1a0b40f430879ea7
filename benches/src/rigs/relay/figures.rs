//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{shown, target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("cpu", "µs", "CPU per small request", true),
    figure("cpu-user", "µs", "CPU per small request, user", true),
    figure("cpu-system", "µs", "CPU per small request, system", true),
    figure("requests", "1/s", "small requests, 50 connections", false),
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

use Against::{EachOfSameSteps, Itself, Pair, Peer};
use Bound::{AtLeast, AtMost};

pub const TARGETS: &[Target] = &[
    target("cpu", AtMost(1.00), Peer("tokio")),
    target("cpu", AtMost(0.95), Peer("haproxy")),
    target("instructions", AtMost(1.00), Peer("tokio")),
    target("allocations", AtMost(0.00), Itself),
    target("calls-io", AtMost(2.00), Itself),
    target("calls-other", AtMost(0.20), Itself),
    target("bulk-download", AtLeast(2.00), Peer("tokio")),
    target("bulk-upload", AtLeast(2.00), Peer("tokio")),
    target("bulk-both", AtLeast(2.00), Peer("tokio")),
    target("bulk-download", AtLeast(0.97), Peer("epoll")),
    target("bulk-upload", AtLeast(0.97), Peer("epoll")),
    target("bulk-both", AtLeast(0.97), Peer("epoll")),
    target("memory-10000", AtMost(1.00), Itself),
    target("descriptors", AtMost(2.00), Itself),
    target("pipe-ends", AtMost(0.00), Itself),
    target("tunnels", AtLeast(1.00), EachOfSameSteps),
    target("ping-p99", AtMost(1.00), Peer("tokio")),
    shown("cpu", "r0"),
    shown("cpu", "relay-core"),
    target("cpu", AtMost(1.00), Peer("r5")),
    target("cpu", AtMost(1.05), Pair("r3", "r5")),
];
