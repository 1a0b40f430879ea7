//! A file of counts that may only fall: uses per source file and row.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::finding::Finding;

/// How often each row is used in each file. Sorted, so that the saved file has small diffs.
pub type Counts = BTreeMap<String, BTreeMap<u32, usize>>;

/// The file of `--save`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// The options that add to what is scanned, e.g. `--tests`.
    pub options: Vec<String>,
    pub uses: Counts,
}

impl Saved {
    /// Reads saved counts.
    pub fn load(file: &Path) -> Result<Self> {
        serde_json::from_str(&files::read(file)?)
            .with_context(|| format!("{} is not a file of --save", file.display()))
    }

    /// Fails unless the counts are of a scan with these options, to which a scan with the same can be
    /// compared.
    pub fn ensure_scanned_with(&self, options: &[String], file: &Path) -> Result<()> {
        ensure!(
            self.options == options,
            "cannot check: {} was saved with the options [{}], and this scan has [{}]; use the same, \
             or save again",
            file.display(),
            self.options.join(" "),
            options.join(" ")
        );
        Ok(())
    }

    /// Writes the counts as JSON.
    pub fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The counts of the findings.
pub fn counts(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    for finding in findings {
        *counts
            .entry(finding.file.clone())
            .or_default()
            .entry(finding.row)
            .or_default() += 1;
    }
    counts
}

/// What has grown since the counts were saved, a line each. A file that was moved has grown.
pub fn grown(saved: &Counts, now: &Counts) -> Vec<String> {
    let mut lines = Vec::new();
    for (file, rows) in now {
        for (row, count) in rows {
            let before = saved
                .get(file)
                .and_then(|rows| rows.get(row))
                .copied()
                .unwrap_or(0);
            if *count > before {
                lines.push(format!(
                    "{file}: row {row} has {count} uses, {before} before"
                ));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: &[(&str, u32, usize)]) -> Counts {
        let mut counts = Counts::new();
        for (file, row, count) in rows {
            counts
                .entry((*file).to_owned())
                .or_default()
                .insert(*row, *count);
        }
        counts
    }

    #[test]
    fn only_growth_is_reported() {
        let saved = counts(&[("a.rs", 1, 2), ("a.rs", 20, 1)]);
        assert!(grown(&saved, &saved).is_empty());
        assert!(grown(&saved, &counts(&[("a.rs", 1, 1)])).is_empty());
        let now = counts(&[("a.rs", 1, 3), ("b.rs", 20, 1)]);
        assert_eq!(
            grown(&saved, &now),
            [
                "a.rs: row 1 has 3 uses, 2 before",
                "b.rs: row 20 has 1 uses, 0 before"
            ]
        );
    }
}
