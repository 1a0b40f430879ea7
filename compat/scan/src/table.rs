//! The table of rows.toml: which item belongs to which row of MIGRATION.md.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::shape::Shape;

/// What a port word for word meets, the worst first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Hangs,
    Compile,
    Silent,
    Mechanical,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Hangs, Self::Compile, Self::Silent, Self::Mechanical];

    /// The severity as a heading of the report.
    pub fn title(self) -> &'static str {
        match self {
            Self::Hangs => "hangs",
            Self::Compile => "does not compile",
            Self::Silent => "changes silently",
            Self::Mechanical => "mechanical",
        }
    }

    /// What a port word for word does there.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Hangs => "a port word for word compiles and stops",
            Self::Compile => "a port word for word does not compile",
            Self::Silent => "a port word for word compiles and does something else",
            Self::Mechanical => "rewritten without a surprise",
        }
    }
}

/// What kind of seam a place is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeamKind {
    Core,
    Machine,
    Spawn,
    Socket,
    Timer,
}

/// What the table says of a use.
#[derive(Debug)]
pub struct Rule {
    pub row: u32,
    pub severity: Severity,
    /// What to do, one line.
    pub advice: String,
    /// The form that the place must have; `None` for any.
    pub shape: Option<Shape>,
    /// Whether the place must have the shape, or must not.
    pub wanted: bool,
}

/// The rules, by the path of the item that they are for.
#[derive(Debug)]
pub struct Table {
    rules: BTreeMap<String, Vec<Rule>>,
    seams: BTreeMap<String, (SeamKind, Option<Shape>)>,
    crates: BTreeMap<String, String>,
    no_sign: BTreeMap<u32, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    crates: BTreeMap<String, String>,
    no_sign: BTreeMap<String, String>,
    seams: BTreeMap<SeamKind, Vec<String>>,
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    row: u32,
    severity: Severity,
    #[serde(rename = "do")]
    advice: String,
    items: Vec<String>,
}

impl Table {
    /// Reads the table that is compiled in.
    pub fn load() -> Self {
        let file: File =
            toml_edit::de::from_str(include_str!("../rows.toml")).expect("rows.toml is valid");
        let mut rules = BTreeMap::<_, Vec<_>>::new();
        for entry in file.entry {
            for (path, shape, wanted) in items(&entry.items) {
                rules.entry(path).or_default().push(Rule {
                    row: entry.row,
                    severity: entry.severity,
                    advice: entry.advice.clone(),
                    shape,
                    wanted,
                });
            }
        }
        let mut seams = BTreeMap::new();
        for (kind, all) in file.seams {
            for (path, shape, _) in items(&all) {
                // Marked, too, where no row is about it.
                rules.entry(path.clone()).or_default();
                seams.insert(path, (kind, shape));
            }
        }
        Self {
            rules,
            seams,
            crates: file.crates,
            no_sign: file
                .no_sign
                .into_iter()
                .map(|(row, reason)| (row.parse().expect("a row"), reason))
                .collect(),
        }
    }

    /// Whether a crate belongs to the generation of futures 0.1.
    pub fn covers(&self, name: &str, version: &cargo_metadata::semver::Version) -> bool {
        let series = format!("{}.{}", version.major, version.minor);
        self.crates
            .get(name)
            .is_some_and(|all| all.split(' ').any(|one| one == series))
    }

    /// Why the scan can't see a row in the old code; `None` where it can.
    pub fn no_sign(&self, row: u32) -> Option<&str> {
        self.no_sign.get(&row).map(String::as_str)
    }

    /// The names of the crates of that generation.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.crates.keys().map(String::as_str)
    }

    /// The rules of a path of the table.
    pub fn rules(&self, path: &str) -> &[Rule] {
        self.rules.get(path).map_or(&[], Vec::as_slice)
    }

    /// The kind of seam that a use of a path is, and the form that the place must have.
    pub fn seam(&self, path: &str) -> Option<(SeamKind, Option<Shape>)> {
        self.seams.get(path).copied()
    }

    /// All paths of the table.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.rules.keys().map(String::as_str)
    }

    /// All rules of the table, each with the path of its item.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Rule)> {
        self.rules
            .iter()
            .flat_map(|(path, rules)| rules.iter().map(|rule| (path.as_str(), rule)))
    }

    /// The path of the table that names the item defined at `definition`: the same crate and item,
    /// and the modules that the path has, in their order.
    pub fn path_of(&self, definition: &[String]) -> Option<&str> {
        self.paths().find(|path| {
            let mut wanted = path.split("::").peekable();
            let mut last = "";
            for segment in definition {
                if wanted.peek() == Some(&segment.as_str()) {
                    last = wanted.next().unwrap();
                } else if last.is_empty() || starts_upper(last) || starts_upper(segment) {
                    // The crate comes first, a method follows its type, and only modules are left out.
                    return false;
                }
            }
            wanted.peek().is_none() && definition.last().is_some_and(|item| item == last)
        })
    }
}

fn starts_upper(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The paths of a list of items, each with the shape that the place must have, and whether it must
/// have it or must not.
fn items(items: &[String]) -> impl Iterator<Item = (String, Option<Shape>, bool)> + '_ {
    let expanded = items.iter().flat_map(|items| expand(items));
    expanded.map(|item| {
        let (path, shape) = item.split_once('@').unwrap_or((&item, ""));
        let name = shape.trim_start_matches('!');
        let named = (!name.is_empty()).then(|| Shape::named(name));
        (path.to_owned(), named, name == shape)
    })
}

/// `A: b c` as `A::b` and `A::c`.
fn expand(items: &str) -> Vec<String> {
    match items.split_once(": ") {
        Some((prefix, names)) => names
            .split_whitespace()
            .map(|name| format!("{prefix}::{name}"))
            .collect(),
        None => vec![items.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::explain::GUIDE;

    #[test]
    fn every_row_is_one_of_the_guides() {
        let rows: Vec<u32> = crate::explain::rows(GUIDE).map(|row| row.number).collect();
        for (_, rule) in Table::load().entries() {
            assert!(
                rows.contains(&rule.row),
                "MIGRATION.md has no row {}",
                rule.row
            );
        }
    }

    #[test]
    fn a_row_of_the_guide_has_either_a_rule_or_a_reason_to_have_none() {
        let table = Table::load();
        for row in crate::explain::rows(GUIDE).map(|row| row.number) {
            let has_rule = table.entries().any(|(_, rule)| rule.row == row);
            let has_reason = table.no_sign(row).is_some();
            assert!(
                has_rule != has_reason,
                "row {row}: rows.toml has {has_rule} and {has_reason}"
            );
        }
    }

    #[test]
    fn a_path_leaves_modules_out_but_no_type() {
        let table = Table::load();
        let of =
            |path: &str| table.path_of(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            of("futures::future::Future::map"),
            Some("futures::Future::map")
        );
        assert_eq!(
            of("futures::future::loop_fn::loop_fn"),
            Some("futures::future::loop_fn")
        );
        assert_eq!(
            of("futures::future::loop_fn"),
            Some("futures::future::loop_fn")
        );
        assert_eq!(of("futures::stream::empty::empty"), None);
        assert_eq!(of("futures::future::Future::map::x"), None);
        assert_eq!(of("futures::future::map"), None);
    }
}
