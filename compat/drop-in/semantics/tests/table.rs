//! Checks the table in README.md against the tests: each test has a row, each row a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Reads `name` in the package's folder.
fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of tests, without this one and the one that names them all.
fn files() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let names = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut files: Vec<_> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".rs")?.to_owned()))
        .filter(|name| !["main", "table"].contains(&&**name))
        .collect();
    files.sort();
    files
}

/// The tests in `source`, each with the line that follows its name.
fn tests(source: &str) -> Vec<(String, String)> {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let marks = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| **line == "#[test]");
    marks
        .map(|(at, _)| {
            let name = lines[at + 1]
                .strip_prefix("fn ")
                .and_then(|rest| rest.split_once('('));
            let name = name
                .unwrap_or_else(|| panic!("no function after line {}", at + 1))
                .0;
            (name.to_owned(), lines[at + 2].to_owned())
        })
        .collect()
}

/// The tests that the tables name, as "file::test", in the cell with that number.
fn rows(cell: usize) -> Vec<String> {
    let readme = text("README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| "));
    rows.filter_map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let test = cells[cell].strip_prefix('`')?.strip_suffix('`')?;
        let (file, name) = test.split_once("::")?;
        let is_name = |text: &str| text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        assert!(
            cells.iter().all(|cell| !cell.is_empty()),
            "says nothing: {row}"
        );
        (is_name(file) && is_name(name)).then(|| test.to_owned())
    })
    .collect()
}

#[test]
fn each_test_has_one_row_and_each_row_a_test() {
    let mut found = BTreeSet::new();
    for file in files() {
        for (test, _) in tests(&text(&format!("tests/{file}.rs"))) {
            assert!(
                found.insert(format!("{file}::{test}")),
                "{file}::{test} is there twice"
            );
        }
    }
    let (rows, differ) = (rows(1), rows(0));
    let named: BTreeSet<_> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), named.len(), "README.md names a test twice");
    let missing: Vec<_> = found.difference(&named).collect();
    assert!(
        missing.is_empty(),
        "without a row in README.md: {missing:#?}"
    );
    let stale: Vec<_> = named.difference(&found).collect();
    assert!(
        stale.is_empty(),
        "rows in README.md without a test: {stale:#?}"
    );
    for test in differ {
        assert!(
            found.contains(&test),
            "README.md names a test for 0.1.18 that is not there: {test}"
        );
    }
}

#[test]
fn each_test_has_a_watchdog() {
    for file in files() {
        for (test, first) in tests(&text(&format!("tests/{file}.rs"))) {
            assert_eq!(first, "watchdog!();", "{file}::{test} can hang");
        }
    }
}

#[test]
fn every_file_is_run() {
    let main = text("tests/main.rs");
    for file in files() {
        assert!(
            main.contains(&format!("\nmod {file};\n")),
            "main.rs leaves {file}.rs out"
        );
    }
}
