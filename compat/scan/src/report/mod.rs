//! What a scan found, in the forms that it is written in.

pub mod html;
pub mod sarif;
pub mod terminal;

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::finding::Finding;
use crate::lock::Lock;
use crate::plan::Plan;
use crate::seams::Seams;
use crate::size::Size;
use crate::soundness::Soundness;
use crate::table::Severity;

/// The result of a scan.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The folder of the workspace.
    pub project: String,
    pub size: Size,
    pub lock: Lock,
    pub soundness: Soundness,
    /// Packages whose findings are unsure.
    pub failed: Vec<Failed>,
    pub findings: Vec<Finding>,
    pub seams: Seams,
    #[serde(flatten)]
    pub plan: Plan,
}

/// A package that doesn't compile, whose findings are those of its syntax.
#[derive(Debug, Serialize)]
pub struct Failed {
    pub package: String,
    /// The compiler's first error.
    pub error: String,
}

impl Report {
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The findings of a severity, those of the same row and advice together.
    fn rows(&self, severity: Severity) -> Vec<Vec<&Finding>> {
        let all = self.findings.iter();
        let mut findings: Vec<_> = all.filter(|f| f.severity == severity).collect();
        findings.sort_by_key(|f| (f.row, &f.advice));
        let rows = findings.chunk_by(|a, b| (a.row, &a.advice) == (b.row, &b.advice));
        rows.map(<[_]>::to_vec).collect()
    }
}

/// Writes a report to a file; `-` is stdout.
pub fn write(file: &Path, text: &str) -> Result<()> {
    if file.as_os_str() == "-" {
        return print(text);
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Writes to stdout. A reader that has closed the pipe, e.g. `head`, has read enough.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to stdout")
        }
        _ => Ok(()),
    }
}
