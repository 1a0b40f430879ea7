//! The rows of MIGRATION.md, section 4.

use std::fmt::Write;

use crate::table::Table;

/// The guide, as it was when this program was built.
pub const GUIDE: &str = include_str!("../../../MIGRATION.md");

/// A row of the table of idioms.
pub struct Row<'a> {
    pub number: u32,
    /// How futures 0.1 wrote it.
    pub before: &'a str,
    /// What takes its place.
    pub after: &'a str,
    /// What goes wrong in a port word for word.
    pub trap: &'a str,
    /// The tests that show it, in `compat/guide/`; empty where there is none.
    pub tests: Vec<&'a str>,
}

/// The rows of a text of the guide, in their order.
pub fn rows(guide: &str) -> impl Iterator<Item = Row<'_>> {
    let section = guide
        .split("\n## ")
        .find(|section| section.starts_with("4. "))
        .unwrap_or_default();
    section.lines().filter_map(row)
}

fn row(line: &str) -> Option<Row<'_>> {
    // A `\|` belongs to the text of its cell.
    let mut cells = Vec::new();
    let mut from = 0;
    for (at, _) in line.match_indices('|') {
        if !line[..at].ends_with('\\') {
            cells.push(line[from..at].trim());
            from = at + 1;
        }
    }
    let [_, number, before, after, trap, tests] = cells[..] else {
        return None;
    };
    Some(Row {
        number: number.parse().ok()?,
        before,
        after,
        trap,
        tests: tests
            .split('`')
            .filter(|name| name.starts_with("row_"))
            .collect(),
    })
}

/// The names of the tests that show the trap of a row.
pub fn tests(number: u32) -> Vec<&'static str> {
    rows(GUIDE)
        .find(|row| row.number == number)
        .map_or_else(Vec::new, |row| row.tests)
}

/// A row as text: the idiom before and after, its trap, the test that shows it, and what the scan
/// looks for. `None` for a row that the guide doesn't have.
pub fn explain(number: u32, table: &Table) -> Option<String> {
    let row = rows(GUIDE).find(|row| row.number == number)?;
    let plain = |text: &str| text.replace("\\|", "|").replace('`', "");
    let mut text = format!(
        "row {number}\n  futures 0.1   {}\n  today         {}\n  trap          {}\n",
        plain(row.before),
        plain(row.after),
        plain(row.trap)
    );
    for test in row.tests {
        let _ = writeln!(text, "  test          {test}, in {TRAPS}");
    }
    if let Some(reason) = table.no_sign(number) {
        let _ = writeln!(text, "\n  the scan can't find it: {reason}");
    }
    let mut entries: Vec<_> = table
        .entries()
        .filter(|(_, rule)| rule.row == number)
        .collect();
    entries.sort_by_key(|(_, rule)| (rule.severity, &rule.advice));
    for entry in entries.chunk_by(|(_, a), (_, b)| a.advice == b.advice) {
        let (_, rule) = entry[0];
        let _ = writeln!(text, "\n  {}: {}", rule.severity.title(), rule.advice);
        for (path, rule) in entry {
            let but = if rule.wanted { "" } else { "but not " };
            let shape = rule.shape.map_or_else(String::new, |shape| {
                format!(", {but}{}", shape.description())
            });
            let _ = writeln!(text, "    {path}{shape}");
        }
    }
    Some(text)
}

/// An option that changes the tree, as text.
pub fn option(name: &str) -> Option<&'static str> {
    match name {
        "fix" => Some(FIX),
        "harden" => Some(HARDEN),
        _ => None,
    }
}

const FIX: &str = "\
--fix
  edits   dyn, where the compiler suggests it; try! to ?; extern crate, in edition 2018 and later;
          futures01 = { package = \"futures\" } and its paths; AsStd::new(…) around what an async caller
          awaits and the compiler finds to be no future
  never   a chain into an async fn; macros, strings, comments, code that is not compiled here
  checks  the project builds before and after; what does not build is undone, and named
";

const HARDEN: &str = "\
--harden
  fault   futures 0.1 casts the Arc of a task handle to a reference without content; the compiler takes
          what lies behind it for read-only, and may drop what Notify::notify writes: lost wake-ups
          (MIGRATION.md, section 7)
  change  one field without size, of a type whose content may change behind a reference
  where   a copy of futures 0.1 from cargo's cache in patched/, [patch] in Cargo.toml, Cargo.lock
  proof   an executor of 1,000 tasks, built with and without the change and run, by the compiler of this
          cargo or of --toolchain
  limits  futures 0.1.14 to 0.1.31; Miri accepts the change under Tree Borrows, not under Stacked Borrows
";

/// The package of the tests.
const TRAPS: &str = "compat/guide/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_explained_from_the_guide() {
        let text = explain(20, &Table::load()).unwrap();
        for part in [
            "Future::wait\n",
            "block_on\n",
            "row_20_to_wait_inside",
            "hangs: ",
            "    futures::Stream::wait, but not in main or a test\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(explain(3, &Table::load()).unwrap().contains("map(|_| ())"));
        assert!(explain(71, &Table::load())
            .unwrap()
            .contains("the scan can't find it: "));
        assert_eq!(explain(0, &Table::load()), None);
    }

    #[test]
    fn the_options_that_change_the_tree_are_explained() {
        for name in ["fix", "harden"] {
            assert!(option(name).unwrap().starts_with(&format!("--{name}\n")));
        }
        assert_eq!(option("write"), None);
    }
}
