//! Tunnels through a proxy with CONNECT, ptunnel and its rungs among them: a page of nginx at their end.

mod ab;
mod bulk;
mod calls;
mod chain;
mod figures;
mod memory;
mod pages;
mod used;

use super::{Group, Plan, Rig};

pub const RIG: Rig = Rig {
    name: "tunnel",
    question: "Tunnels through an HTTP proxy to nginx: what a request, a new tunnel and a gigabyte cost on the way.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "kept",
            figures: &["time-kept-c5", "cpu-kept-c5", "time-kept-c50", "cpu-kept-c50"],
            sample: pages::kept,
            quick: Plan::quick(1, 1_000, 20),
            full: Plan::full(9, 1_300, 220),
        },
        Group {
            name: "closed",
            figures: &["time-100-c5", "cpu-100-c5", "time-close-c5", "cpu-close-c5", "time-100-c50", "cpu-100-c50", "time-close-c50", "cpu-close-c50"],
            sample: pages::closed,
            quick: Plan::quick(1, 2_000, 45),
            full: Plan::full(9, 2_200, 340),
        },
        Group {
            name: "proxies",
            figures: &["time-embedded", "cpu-embedded", "tunnels-embedded-c5", "tunnels-embedded-c5-cpu", "tunnels-embedded", "tunnels-embedded-cpu", "time-tinyproxy", "cpu-tinyproxy", "tunnels-tinyproxy", "tunnels-tinyproxy-cpu"],
            sample: pages::quicker,
            quick: Plan::quick(1, 2_500, 35),
            full: Plan::full(9, 3_100, 470),
        },
        Group {
            name: "ab",
            figures: &["ab-100", "ab-close"],
            sample: ab::sample,
            quick: Plan::quick(1, 2_500, 20),
            full: Plan::full(3, 3_000, 120),
        },
        Group {
            name: "bulk",
            figures: &["bulk-download", "bulk-download-cpu", "bulk-upload", "bulk-upload-cpu"],
            sample: bulk::sample,
            quick: Plan::quick(1, 500, 10),
            full: Plan::full(3, 900, 40),
        },
        Group {
            name: "memory",
            figures: &["memory"],
            sample: memory::sample,
            quick: Plan::quick(1, 2_500, 30),
            full: Plan::full(1, 4_500, 65),
        },
        Group {
            name: "calls",
            figures: &["calls-io", "calls-other", "calls-tunnel"],
            sample: calls::sample,
            quick: Plan::quick(1, 3_000, 35),
            full: Plan::full(1, 5_000, 75),
        },
    ],
    quick_note: Some(memory::QUICK),
};
