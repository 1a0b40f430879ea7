//! What is compared: one module a rig.

pub mod echo;
pub mod growth;
pub mod plaintext;
pub mod profile;
pub mod relay;
pub mod tunnel;

use crate::measure::Rig;

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

/// Their names, which are those of the lists in `peers.toml`.
pub fn names() -> Vec<&'static str> {
    RIGS.iter().map(|rig| rig.name).collect()
}

pub fn named(name: &str) -> Option<&'static Rig> {
    RIGS.iter().copied().find(|rig| rig.name == name)
}

/// The peers of a rig in the list that comes with it.
#[cfg(test)]
pub fn shipped(rig: &str) -> Vec<crate::peers::Spec> {
    crate::peers::spec::parse(include_str!("../../peers.toml"), &names(), rig).unwrap()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::measure::rig::{Group, Plan, ENOUGH};
    use crate::model::{Figure, Kind, Target};
    use crate::peers::find;

    #[test]
    fn every_target_plot_and_repeat_is_of_a_figure_of_its_rig_and_of_peers_that_there_are() {
        for rig in RIGS {
            let names: Vec<&str> = rig.figures().map(|f| f.name).collect();
            let distinct = names.iter().collect::<BTreeSet<_>>().len();
            assert_eq!(
                distinct,
                names.len(),
                "{}: a figure is of one group",
                rig.name
            );
            let peers = shipped(rig.name);
            for target in rig.targets {
                let is_there = |name: &&str| peers.iter().any(|peer| peer.name == **name);
                assert!(target.figures().all(|f| names.contains(&f)), "{target:?}");
                assert!(target.names().iter().all(is_there), "{target:?}");
                assert!(!target.source.is_empty(), "{target:?}");
            }
            let others = rig.plotted.iter().chain(rig.repeats.iter().flatten());
            for name in others {
                assert!(names.contains(name), "{} of {}", name, rig.name);
            }
        }
    }

    #[test]
    fn the_shipped_file_has_peers_with_a_version_and_one_subject_for_each_rig() {
        let project = find::project().unwrap();
        for rig in RIGS {
            let specs = shipped(rig.name);
            let subjects = specs.iter().filter(|s| s.kind == Kind::Subject);
            assert_eq!(subjects.count(), 1, "{}", rig.name);
            for spec in &specs {
                assert!(
                    spec.version.is_some() || spec.locked.is_some(),
                    "{}",
                    spec.name
                );
                if spec.locked.is_some() {
                    find::version(spec, &project).unwrap();
                }
                let is_group = |name: &&String| rig.groups.iter().any(|g| g.name == **name);
                let mut named = spec.without.iter().chain(&spec.groups);
                assert_eq!(named.find(|name| !is_group(name)), None, "{}", spec.name);
            }
        }
    }

    #[test]
    fn what_has_a_target_has_rounds_enough_and_the_time_for_them() {
        for rig in RIGS {
            let specs = shipped(rig.name);
            for group in rig.groups {
                let name = format!("{} {}", rig.name, group.name);
                let Group { full, .. } = group;
                let is_judged = |t: &Target| t.figures().any(|f| group.has(f));
                let is_enough = full.rounds == 1 || full.rounds >= ENOUGH;
                assert!(is_enough || !rig.targets.iter().any(is_judged), "{name}");
                let asked = specs.iter().filter(|s| s.takes_part(group.name)).count();
                assert!(full.whole(asked) <= full.budget, "{name}: {asked} peers");
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

    /// Names are borrowed from the file's text, which can't be done where JSON needs a backslash.
    #[test]
    fn the_names_of_each_rig_need_no_escapes() {
        for rig in RIGS {
            let figures: Vec<&Figure> = rig.figures().collect();
            let figures = serde_json::to_string(&figures).unwrap();
            let question = serde_json::to_string(rig.question).unwrap();
            assert!(serde_json::from_str::<Vec<Figure>>(figures.leak()).is_ok());
            assert!(serde_json::from_str::<&str>(&question).is_ok());
        }
    }
}
