//! The report for a terminal.

use std::fmt::Write;

use super::Report;
use crate::explain;
use crate::finding::Finding;
use crate::lock::Lock;
use crate::table::Severity;

/// How many places a row shows; the other formats have all.
const PLACES: usize = 8;

/// The report as text, the worst findings first.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    add_lock(&mut text, &report.lock);
    text += &report.soundness.text();
    for severity in Severity::ALL {
        let mut findings: Vec<_> = report
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .collect();
        findings.sort_by_key(|f| (f.row, &f.advice));
        if !findings.is_empty() {
            let _ = writeln!(text, "{} ({})", severity.title(), findings.len());
        }
        for row in findings.chunk_by(|a, b| (a.row, &a.advice) == (b.row, &b.advice)) {
            add_row(&mut text, row);
        }
    }
    for failed in &report.failed {
        let _ = writeln!(
            text,
            "unsure: the package {} does not compile ({}); its findings are names that fit",
            failed.package, failed.error
        );
    }
    let _ = writeln!(
        text,
        "{} findings in {}",
        report.findings.len(),
        report.project
    );
    text
}

fn add_lock(text: &mut String, lock: &Lock) {
    let _ = writeln!(text, "lock file\n  reactor: {}", lock.reactor);
    for broken in &lock.broken {
        let _ = writeln!(text, "  broken addresses since rustc 1.64, {broken}");
    }
    for advisory in &lock.advisories {
        let _ = writeln!(text, "  advisory, {advisory}");
    }
    for old in &lock.packages {
        let successor = old
            .successor
            .as_ref()
            .map_or(String::new(), |name| format!(", then {name}"));
        let _ = writeln!(
            text,
            "  {}{successor}: used by {}",
            old.package,
            old.used_by.join(", ")
        );
    }
    for library in &lock.libraries {
        let core = if library.owns_core {
            "owns a Core (row 70)"
        } else {
            "uses its types"
        };
        let _ = writeln!(
            text,
            "  {} is built on tokio-core and {core}; the drop-in serves it unchanged",
            library.package
        );
    }
}

fn add_row(text: &mut String, findings: &[&Finding]) {
    let _ = writeln!(text, "  row {}: {}", findings[0].row, findings[0].advice);
    for test in explain::tests(findings[0].row) {
        let _ = writeln!(text, "    test {test}");
    }
    for f in findings.iter().take(PLACES) {
        let unsure = if f.sure { "" } else { " (unsure)" };
        let _ = writeln!(
            text,
            "    {}:{}:{} {}{unsure}",
            f.file, f.line, f.column, f.item
        );
    }
    if findings.len() > PLACES {
        let _ = writeln!(text, "    and {} more", findings.len() - PLACES);
    }
}
