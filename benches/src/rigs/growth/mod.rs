//! Growth: what a request costs, how long it waits and what a tunnel holds, from ten tunnels to ten thousand.

mod kernel;
mod samples;

use crate::measure::{Group, Plan, Rig};
use crate::model::Beside::Limit;
use crate::model::Bound::{AtLeast, AtMost};
use crate::model::{less, more, target};

/// A figure at each step: `NAME-10` and so on, with what its title has before and after the number of tunnels.
macro_rules! steps {
    ($($name:literal $unit:literal $before:literal $behind:literal;)* $(and $more:expr)?) => { &[$(
        less(concat!($name, "-10"), $unit, concat!($before, "10", $behind)),
        less(concat!($name, "-100"), $unit, concat!($before, "100", $behind)),
        less(concat!($name, "-1000"), $unit, concat!($before, "1,000", $behind)),
        less(concat!($name, "-10000"), $unit, concat!($before, "10,000", $behind)),
    )* $($more)?] };
}

pub const RIG: Rig = Rig {
    name: "growth",
    question: "Plain relays with ten tunnels to ten thousand, all or few of them active: what growing costs.",
    plotted: &["cpu-10000", "few-cpu-10000", "memory-10000", "threads"],
    targets: &[
        target("growth", AtMost(1.25), Limit)
            .from("promise: ten thousand connections cost a quarter more a request than a hundred"),
        target("threads", AtLeast(1.80), Limit).from("promise: a second thread adds four fifths"),
        target("memory-10000", AtMost(1.00), Limit).from("promise of README: 1 KiB"),
    ],
    groups: &[
        Group {
            name: "active",
            figures: steps!(
                "cpu" "µs" "CPU per request, " " tunnels";
                "p50" "µs" "latency, " " tunnels, p50";
                "p99" "µs" "latency, " " tunnels, p99";
                and less("growth", "times", "CPU per request, 10,000 tunnels beside 100")
            ),
            sample: samples::active,
            quick: Plan::quick(1, 4_000, 30),
            full: Plan::full(9, 5_000, 340),
        },
        Group {
            name: "few",
            figures: steps!(
                "few-cpu" "µs" "CPU per request, 10 tunnels active of " "";
                "few-p99" "µs" "latency, 10 tunnels active of " ", p99";
            ),
            sample: samples::few_active,
            quick: Plan::quick(1, 4_000, 30),
            full: Plan::full(3, 5_000, 120),
        },
        Group {
            name: "memory",
            figures: &[
                less("memory-1000", "KiB", "memory of the process per tunnel of 1,000"),
                less("kernel-1000", "KiB", "the kernel's slab per tunnel of 1,000"),
                less("memory-10000", "KiB", "memory of the process per tunnel of 10,000"),
                less("kernel-10000", "KiB", "the kernel's slab per tunnel of 10,000"),
            ],
            sample: samples::memory,
            quick: Plan::quick(1, 3_000, 20),
            full: Plan::full(9, 7_000, 450),
        },
        Group {
            name: "threads",
            figures: &[
                less("cpu-t1", "µs", "CPU per request, one thread, its own core"),
                more("requests-t1", "1/s", "requests, one thread, its own core"),
                less("cpu-t2", "µs", "CPU per request, two threads, both cores"),
                more("requests-t2", "1/s", "requests, two threads, both cores"),
                more("threads", "times", "requests with two threads beside one"),
            ],
            sample: samples::threads,
            quick: Plan::quick(1, 2_000, 10),
            full: Plan::full(9, 2_500, 80),
        },
    ],
    repeats: &[],
    quick_note: Some("a quick run has 1,000 tunnels where a full one has 10,000"),
};
