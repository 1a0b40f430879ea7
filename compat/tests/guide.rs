//! MIGRATION.md and the tests that it names must not drift apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const GUIDE: &str = include_str!("../../MIGRATION.md");
const README: &str = include_str!("../README.md");

/// All `row_…` names in a text, each with what comes before it.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("row_").filter_map(|(at, _)| {
        let name = text[at..]
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()?;
        // `row_…` stands for all of them.
        (name.len() > "row_".len()).then_some((&text[..at], name))
    })
}

/// The tests of `tests/traps/`, and those that need old versions.
fn traps() -> BTreeSet<String> {
    let mut traps = BTreeSet::new();
    for folder in ["tests/traps", "faults/tests"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in fs::read_dir(folder).unwrap() {
            let source = fs::read_to_string(file.unwrap().path()).unwrap();
            let tests = rows(&source).filter(|(before, _)| before.ends_with("fn "));
            traps.extend(tests.map(|(_, name)| name.to_owned()));
        }
    }
    traps
}

#[test]
fn every_test_that_is_named_exists() {
    let traps = traps();
    for (_, name) in rows(GUIDE).chain(rows(README)) {
        assert!(traps.contains(name), "there is no test {name}");
    }
}

#[test]
fn every_trap_stands_in_its_row_of_the_table() {
    for name in traps() {
        let number: u32 = name["row_".len()..]
            .split('_')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let row = format!("| {number} |");
        let row = GUIDE
            .lines()
            .find(|line| line.starts_with(&row) && line.contains("`row_"));
        assert!(
            row.is_some_and(|row| row.contains(&format!("`{name}`"))),
            "{name} is not there"
        );
    }
}

#[test]
fn at_least_thirty_rows_have_a_test() {
    let rows: BTreeSet<String> = traps().iter().map(|name| name[..6].to_owned()).collect();
    assert!(rows.len() >= 30);
    for number in [6, 8, 21, 30, 31, 37, 38, 43, 49, 51, 52, 55, 56, 58, 59, 60] {
        assert!(
            rows.contains(&format!("row_{number:02}")),
            "row {number} has no test"
        );
    }
}

#[test]
fn every_link_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (text, folder) in [(GUIDE, root.join("..")), (README, root.to_owned())] {
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            match link.strip_prefix('#') {
                Some(anchor) => {
                    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
                    assert!(
                        headings.map(anchor_of).any(|a| a == anchor),
                        "no heading {link}"
                    );
                }
                None => {
                    let file = link.split('#').next().unwrap();
                    assert!(folder.join(file).exists(), "no file {link}");
                }
            }
        }
    }
}

/// The name that a heading gets when the file is shown as a page.
fn anchor_of(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
