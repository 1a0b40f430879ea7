//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("cpu-10", "µs", "CPU per request, 10 tunnels", true),
    figure("cpu-100", "µs", "CPU per request, 100 tunnels", true),
    figure("cpu-1000", "µs", "CPU per request, 1,000 tunnels", true),
    figure("cpu-10000", "µs", "CPU per request, 10,000 tunnels", true),
    figure(
        "growth",
        "times",
        "CPU per request, 10,000 tunnels beside 100",
        true,
    ),
    figure("p50-10", "µs", "latency, 10 tunnels, p50", true),
    figure("p50-100", "µs", "latency, 100 tunnels, p50", true),
    figure("p50-1000", "µs", "latency, 1,000 tunnels, p50", true),
    figure("p50-10000", "µs", "latency, 10,000 tunnels, p50", true),
    figure("p99-10", "µs", "latency, 10 tunnels, p99", true),
    figure("p99-100", "µs", "latency, 100 tunnels, p99", true),
    figure("p99-1000", "µs", "latency, 1,000 tunnels, p99", true),
    figure("p99-10000", "µs", "latency, 10,000 tunnels, p99", true),
    figure(
        "few-cpu-10",
        "µs",
        "CPU per request, 10 tunnels active of 10",
        true,
    ),
    figure(
        "few-cpu-100",
        "µs",
        "CPU per request, 10 tunnels active of 100",
        true,
    ),
    figure(
        "few-cpu-1000",
        "µs",
        "CPU per request, 10 tunnels active of 1,000",
        true,
    ),
    figure(
        "few-cpu-10000",
        "µs",
        "CPU per request, 10 tunnels active of 10,000",
        true,
    ),
    figure(
        "few-p99-10",
        "µs",
        "latency, 10 tunnels active of 10, p99",
        true,
    ),
    figure(
        "few-p99-100",
        "µs",
        "latency, 10 tunnels active of 100, p99",
        true,
    ),
    figure(
        "few-p99-1000",
        "µs",
        "latency, 10 tunnels active of 1,000, p99",
        true,
    ),
    figure(
        "few-p99-10000",
        "µs",
        "latency, 10 tunnels active of 10,000, p99",
        true,
    ),
    figure(
        "memory-1000",
        "KiB",
        "memory of the process per tunnel of 1,000",
        true,
    ),
    figure(
        "memory-10000",
        "KiB",
        "memory of the process per tunnel of 10,000",
        true,
    ),
    figure(
        "kernel-1000",
        "KiB",
        "the kernel's slab per tunnel of 1,000",
        true,
    ),
    figure(
        "kernel-10000",
        "KiB",
        "the kernel's slab per tunnel of 10,000",
        true,
    ),
    figure(
        "cpu-t1",
        "µs",
        "CPU per request, one thread on its own core",
        true,
    ),
    figure(
        "requests-t1",
        "1/s",
        "requests, one thread on its own core",
        false,
    ),
    figure(
        "cpu-t2",
        "µs",
        "CPU per request, two threads on both cores",
        true,
    ),
    figure(
        "requests-t2",
        "1/s",
        "requests, two threads on both cores",
        false,
    ),
    figure(
        "threads",
        "times",
        "requests with two threads beside one",
        false,
    ),
];

pub const PLOTTED: &[&str] = &[
    "cpu-10000",
    "growth",
    "p99-10000",
    "few-cpu-10000",
    "memory-10000",
    "kernel-10000",
    "threads",
];

use Against::Itself;
use Bound::{AtLeast, AtMost};

pub const TARGETS: &[Target] = &[
    target("growth", AtMost(1.25), Itself)
        .from("promise: ten thousand connections cost a quarter more a request than a hundred"),
    target("threads", AtLeast(1.80), Itself).from("promise: a second thread adds four fifths"),
    target("memory-10000", AtMost(1.00), Itself).from("promise of README: 1 KiB"),
];
