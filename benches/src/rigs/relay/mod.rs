//! Plain relays side by side, ptunnel among them.

mod bulk;
mod calls;
mod cpu;
mod figures;
mod instructions;
mod memory;
mod ping;
mod side;
mod tunnels;

use super::{Group, Plan, Rig};

pub const RIG: Rig = Rig {
    name: "relay",
    question: "Plain relays, ptunnel dialling directly among them: what carrying bytes costs.",
    figures: figures::FIGURES,
    plotted: figures::PLOTTED,
    targets: figures::TARGETS,
    groups: &[
        Group {
            name: "cpu",
            sample: cpu::sample,
            quick: Plan::quick(3, 900, 20),
            full: Plan::full(15, 2_100, 310),
        },
        Group {
            name: "instructions",
            sample: instructions::sample,
            quick: Plan::quick(1, 5_000, 45),
            full: Plan::full(1, 9_000, 100),
        },
        Group {
            name: "calls",
            sample: calls::sample,
            quick: Plan::quick(1, 2_000, 25),
            full: Plan::full(1, 4_000, 50),
        },
        Group {
            name: "bulk",
            sample: bulk::sample,
            quick: Plan::quick(3, 800, 20),
            full: Plan::full(15, 4_500, 400),
        },
        Group {
            name: "tunnels",
            sample: tunnels::sample,
            quick: Plan::quick(3, 800, 15),
            full: Plan::full(15, 1_600, 200),
        },
        Group {
            name: "ping",
            sample: ping::sample,
            quick: Plan::quick(3, 1_000, 20),
            full: Plan::full(15, 2_300, 270),
        },
        Group {
            name: "memory",
            sample: memory::sample,
            quick: Plan::quick(1, 3_500, 35),
            full: Plan::full(1, 30_000, 290),
        },
    ],
    quick_note: Some(memory::QUICK),
};
