//! One module a rig, and what they have in common: a rig is a value, and [`run`] measures any of them.

mod again;
pub mod bench;
pub mod certificate;
mod check;
pub mod echo;
pub mod growth;
pub mod ladder;
pub mod lives;
pub mod plaintext;
mod plan;
pub mod profile;
pub mod progress;
pub mod relay;
mod repeats;
mod rounds;
mod run;
pub mod tunnel;
mod turns;

use std::io;

pub use again::{again, outcomes_of};
pub use bench::{Bench, Taken};
pub use check::check;
pub use plan::Plan;
pub use run::{run, Options, Outcome};

use crate::peers::Found;
use crate::report::targets::Target;
use crate::report::Figure;

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub struct Rig {
    /// Its name on the command line, in `peers.toml` and in the results.
    pub name: &'static str,
    /// One line above its report: what is compared with what.
    pub question: &'static str,
    /// The columns of the report.
    pub figures: &'static [Figure],
    /// Those of them that are drawn.
    pub plotted: &'static [&'static str],
    pub targets: &'static [Target],
    /// Measured one after the other.
    pub groups: &'static [Group],
    /// What a reader of a quick run must know about its columns.
    pub quick_note: Option<&'static str>,
}

/// Figures that one sample gives together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub name: &'static str,
    pub figures: &'static [&'static str],
    pub sample: fn(&Bench, &Found) -> io::Result<Taken>,
    pub quick: Plan,
    pub full: Plan,
}

/// Every rig, in the order in which `all` runs them: what the headline needs comes first.
pub const RIGS: &[&Rig] = &[
    &relay::RIG,
    &growth::RIG,
    &tunnel::RIG,
    &echo::RIG,
    &profile::RIG,
    &plaintext::RIG,
    &plaintext::OVER_TLS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_and_panel_is_a_figure_of_its_rig() {
        for rig in RIGS {
            let known = |name: &str| rig.figures.iter().any(|f| f.name == name);
            assert!(rig.targets.iter().all(|t| known(t.figure)), "{}", rig.name);
            assert!(
                rig.targets.iter().all(|t| !t.source.is_empty()),
                "{}",
                rig.name
            );
            assert!(rig.plotted.iter().all(|name| known(name)), "{}", rig.name);
        }
    }

    #[test]
    fn every_figure_is_of_one_group() {
        for rig in RIGS {
            let mut given: Vec<&str> = rig.groups.iter().flat_map(|g| g.figures).copied().collect();
            let mut known: Vec<&str> = rig.figures.iter().map(|f| f.name).collect();
            given.sort();
            known.sort();
            // The figures over TLS are some of those in the clear.
            known.retain(|name| rig.name != "plaintext-tls" || given.contains(name));
            assert_eq!(given, known, "{}", rig.name);
        }
    }

    #[test]
    fn what_has_a_target_has_rounds_enough_and_the_time_for_them() {
        for rig in RIGS {
            let specs = crate::peers::spec::shipped(rig.name).unwrap();
            for group in rig.groups {
                let name = format!("{} {}", rig.name, group.name);
                let judged = |t: &Target| group.figures.contains(&t.figure);
                let one_is_enough = group.full.rounds == 1;
                assert!(
                    one_is_enough
                        || group.full.rounds >= plan::ENOUGH
                        || !rig.targets.iter().any(judged),
                    "{name}"
                );
                let asked = specs.iter().filter(|s| s.takes_part(group.name)).count();
                assert!(
                    group.full.whole(asked) <= group.full.budget,
                    "{name}: {asked} peers"
                );
            }
        }
    }

    #[test]
    fn budgets_keep_their_promise() {
        for rig in RIGS {
            let sum = |plan: fn(&Group) -> Plan| -> u64 {
                rig.groups.iter().map(|g| plan(g).budget.as_secs()).sum()
            };
            // The rest is for finding the peers, and for the last round of each group.
            assert!(sum(|g| g.quick) <= 250, "{}", rig.name);
            assert!(sum(|g| g.full) <= 60 * 60, "{}", rig.name);
        }
    }
}
