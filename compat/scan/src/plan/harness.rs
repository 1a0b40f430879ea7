//! The tests that the harness needs first.

use serde::Deserialize;

use super::{at, Facts, Task};
use crate::table::SeamKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    test: Vec<Entry>,
}

/// A test that a project needs if it has one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    seams: Vec<SeamKind>,
    #[serde(default)]
    rows: Vec<u32>,
    what: String,
}

/// The tests of harness.toml that the project needs, each with the places that it is for.
pub fn tests(facts: &Facts) -> Vec<Task> {
    let file: File =
        toml_edit::de::from_str(include_str!("../../harness.toml")).expect("harness.toml is valid");
    let tests = file.test.into_iter().map(|entry| {
        let mut places = facts.places(&entry.rows);
        for kind in entry.seams {
            places.extend(match kind {
                SeamKind::Core => at(&facts.seams.cores),
                SeamKind::Machine => at(facts.seams.machines.iter().map(|m| &m.place)),
                SeamKind::Spawn => at(&facts.seams.spawns),
                SeamKind::Socket => at(&facts.seams.sockets),
                SeamKind::Timer => at(&facts.seams.timers),
            });
        }
        Task::at(&entry.what, places)
    });
    tests.filter(|test| !test.places.is_empty()).collect()
}
