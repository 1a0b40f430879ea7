//! One use of something of futures 0.1.

use serde::Serialize;

use crate::table::Severity;

/// A use at one place, and what a row of MIGRATION.md says of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Finding {
    /// Relative to the workspace; absolute outside of it.
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub row: u32,
    pub severity: Severity,
    /// The item, as rows.toml names it.
    pub item: String,
    /// What to do.
    pub advice: String,
    /// False where the package doesn't compile, and the name alone was seen.
    pub sure: bool,
    /// Whether it is in a test, or in what only tests use.
    pub in_test: bool,
}
