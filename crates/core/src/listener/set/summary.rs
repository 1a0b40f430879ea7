//! The changes that a reload made to the listeners, as lines for stdout and for the log.

use std::fmt;
use std::io::{self, Write};

/// The listeners that a reload opened, changed, closed and kept; displays as one line.
#[derive(Debug, Default)]
pub struct ReloadSummary {
    /// A line about each listener that is new or changed.
    pub lines: Vec<String>,
    pub(super) opened: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) closed: Vec<String>,
    pub(super) kept: usize,
}

impl fmt::Display for ReloadSummary {
    /// Writes `opened 127.0.0.1:1, 127.0.0.1:2; closed 127.0.0.1:3; kept 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, addresses) in &[
            ("opened", &self.opened),
            ("changed", &self.changed),
            ("closed", &self.closed),
        ] {
            if !addresses.is_empty() {
                write!(f, "{} {}; ", what, addresses.join(", "))?;
            }
        }
        write!(f, "kept {}", self.kept)
    }
}

/// Prints lines on stdout and flushes each, for a caller that waits for it.
pub(crate) fn print_lines(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout();
    for line in lines {
        writeln!(out, "{}", line)?;
        out.flush()?;
    }
    Ok(())
}
