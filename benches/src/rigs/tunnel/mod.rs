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
            sample: pages::kept,
            quick: Plan::quick(1, 1_000, 20),
            full: Plan::full(9, 1_400, 130),
        },
        Group {
            name: "closed",
            sample: pages::closed,
            quick: Plan::quick(1, 2_000, 45),
            full: Plan::full(5, 2_500, 150),
        },
        Group {
            name: "proxies",
            sample: pages::quicker,
            quick: Plan::quick(1, 2_000, 30),
            full: Plan::full(5, 2_500, 120),
        },
        Group {
            name: "ab",
            sample: ab::sample,
            quick: Plan::quick(1, 2_500, 20),
            full: Plan::full(5, 3_000, 90),
        },
        Group {
            name: "bulk",
            sample: bulk::sample,
            quick: Plan::quick(1, 500, 10),
            full: Plan::full(5, 900, 50),
        },
        Group {
            name: "memory",
            sample: memory::sample,
            quick: Plan::quick(1, 2_500, 35),
            full: Plan::full(1, 4_500, 60),
        },
        Group {
            name: "calls",
            sample: calls::sample,
            quick: Plan::quick(1, 3_000, 35),
            full: Plan::full(1, 5_000, 70),
        },
    ],
    quick_note: Some(memory::QUICK),
};
