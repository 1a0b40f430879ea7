//! What follows from what was found: the tests to write first, the order of work, the effort.

mod callers;
mod effort;
mod harness;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::check::{Role, Use};
use crate::finding::Finding;
use crate::lock::Lock;
use crate::project::Project;
use crate::seams::{Place, Seams};
use crate::sources::Sources;
use crate::table::Table;

pub use effort::{Cost, Effort};
pub use order::Step;

/// The rows whose idioms make a chain of combinators: a function with one of them becomes async.
const CHAIN: [std::ops::RangeInclusive<u32>; 3] = [1..=12, 14..=19, 21..=30];

/// The plan for a project, by MIGRATION.md.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// The tests that the harness needs before the first step.
    pub harness: Vec<Task>,
    pub order: Vec<Step>,
    pub effort: Effort,
}

/// Something to do, and the places that it is about.
#[derive(Debug, Serialize)]
pub struct Task {
    pub what: String,
    pub places: Vec<String>,
}

/// What the plan is made from.
pub struct Facts<'a> {
    pub project: &'a Project,
    pub table: &'a Table,
    pub uses: &'a [Use],
    pub sources: &'a Sources,
    pub findings: &'a [Finding],
    pub seams: &'a Seams,
    pub lock: &'a Lock,
}

impl Plan {
    pub fn of(facts: &Facts) -> Self {
        let chains = facts.chains();
        Self {
            harness: harness::tests(facts),
            order: order::steps(facts, &chains),
            effort: Effort::of(facts, chains.values().map(BTreeSet::len).sum()),
        }
    }
}

/// A file as reports name it, and a line.
type At = (String, usize);

impl Task {
    fn new(what: &str, places: Vec<String>) -> Self {
        Self {
            what: what.to_owned(),
            places,
        }
    }

    fn at(what: &str, mut places: Vec<At>) -> Self {
        places.sort();
        places.dedup();
        let shown = |(file, line)| format!("{file}:{line}");
        Self::new(what, places.into_iter().map(shown).collect())
    }
}

impl Facts<'_> {
    /// The first lines of the functions in a chain of combinators, by file, without tests and what
    /// is within a machine.
    fn chains(&self) -> BTreeMap<String, BTreeSet<usize>> {
        let mut chains = BTreeMap::<_, BTreeSet<_>>::new();
        for used in self.uses {
            let source = self.sources.of(&used.file);
            let at = (used.line, used.column);
            let rules = self.table.rules(&used.path);
            let is_chain = rules
                .iter()
                .any(|rule| CHAIN.iter().any(|rows| rows.contains(&rule.row)));
            if !is_chain || source.shapes.is_import(at) || source.is_test(used.line) {
                continue;
            }
            let Some(function) = source.outline.function(used.line) else {
                continue;
            };
            let machines = self.seams.machines.iter();
            let mut machines = machines.filter(|machine| machine.place.file == source.shown);
            if !machines.any(|machine| machine.has(function.lines.0)) {
                let functions = chains.entry(source.shown.clone()).or_default();
                functions.insert(function.lines.0);
            }
        }
        chains
    }

    /// The public functions of libraries with an item of that generation in their signature.
    fn public(&self) -> Vec<At> {
        let mut places = BTreeSet::new();
        for used in self.uses {
            let source = self.sources.of(&used.file);
            let function = source.outline.function(used.line);
            let in_signature = function.is_some_and(|function| {
                function.is_public && (used.line, used.column) < function.body
            });
            if in_signature && source.role == Role::Library && !source.is_test(used.line) {
                let line = function.map_or(used.line, |function| function.lines.0);
                places.insert((source.shown.clone(), line));
            }
        }
        places.into_iter().collect()
    }

    /// The places of the findings of these rows that aren't in tests.
    fn places(&self, rows: &[u32]) -> Vec<At> {
        let found = self.findings.iter();
        let found = found.filter(|finding| rows.contains(&finding.row) && !finding.in_test);
        let mut places: Vec<_> = found.map(|f| (f.file.clone(), f.line)).collect();
        places.dedup();
        places
    }

    /// The integration tests of the project: targets of the kind `test`.
    fn test_targets(&self) -> usize {
        let targets = self.project.local_packages().flat_map(|p| &p.targets);
        targets.filter(|target| target.is_test()).count()
    }
}

/// Where the places are.
fn at<'a>(places: impl IntoIterator<Item = &'a Place>) -> Vec<At> {
    let at = |place: &Place| (place.file.clone(), place.line);
    places.into_iter().map(at).collect()
}

/// A count with its noun.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
