//! The report for a terminal.

use std::fmt::Write;

use super::Report;
use crate::explain;
use crate::finding::Finding;
use crate::lock::Lock;
use crate::plan::{Effort, Task};
use crate::seams::Seams;
use crate::size::Size;
use crate::table::Severity;

/// How many places an entry shows; the other forms have all.
const PLACES: usize = 8;
/// How many files, lines or machines a task of the order of work shows.
const PLACES_OF_STEP: usize = 16;
/// How many places of a test that comes first are shown.
const PLACES_OF_TEST: usize = 3;

/// The report as text, the worst findings first.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    add_size(&mut text, &report.size);
    add_lock(&mut text, &report.lock);
    text += &report.soundness.text();
    for severity in Severity::ALL {
        let rows = report.rows(severity);
        if !rows.is_empty() {
            let count: usize = rows.iter().map(Vec::len).sum();
            let _ = writeln!(text, "{} ({count})", severity.title());
        }
        for row in rows {
            add_row(&mut text, &row);
        }
    }
    add_seams(&mut text, &report.seams);
    add_tasks(
        &mut text,
        "tests to write first",
        &report.plan.harness,
        PLACES_OF_TEST,
    );
    for step in &report.plan.order {
        let title = format!("step {}: {}", step.number, step.title);
        match step.tasks[..] {
            [] => {
                let _ = writeln!(text, "{title}: nothing to do");
            }
            _ => {
                let title = format!("{title}\n  {}", step.why);
                add_tasks(&mut text, &title, &step.tasks, PLACES_OF_STEP);
            }
        }
    }
    add_effort(&mut text, &report.plan.effort);
    for failed in &report.failed {
        let _ = writeln!(
            text,
            "unsure: the package {} does not compile ({}); its findings are matches by name",
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

fn add_size(text: &mut String, size: &Size) {
    text.push_str("size\n");
    for (name, share) in [("files", &size.files), ("functions", &size.functions)] {
        let _ = writeln!(
            text,
            "  {} of {} {name} touch futures 0.1 ({} %)",
            share.touch,
            share.all,
            share.percent()
        );
    }
    let functions = size.function_lines();
    let _ = writeln!(
        text,
        "  {} of {} lines of code name an item of it ({} %); those functions have {} lines ({} %)",
        size.lines.touch,
        size.lines.all,
        size.lines.percent(),
        functions.touch,
        functions.percent()
    );
}

fn add_lock(text: &mut String, lock: &Lock) {
    let _ = writeln!(text, "lock file\n  reactor: {}", lock.reactor);
    for broken in &lock.broken {
        let _ = writeln!(text, "  broken addresses since rustc 1.64, {broken}");
    }
    for advisory in &lock.advisories {
        let _ = writeln!(text, "  advisory, {advisory}");
    }
    let (beneath, used): (Vec<_>, Vec<_>) = lock.packages.iter().partition(|old| old.is_beneath);
    for old in used {
        let successor = old.successor.as_ref();
        let next = successor.map_or(String::new(), |next| format!(", then {}", next.summary()));
        let _ = writeln!(
            text,
            "  {}{next}: used by {}",
            old.package,
            old.used_by.join(", ")
        );
    }
    if !beneath.is_empty() {
        let names: Vec<_> = beneath.iter().map(|old| old.package.as_str()).collect();
        let _ = writeln!(text, "  used only by these: {}", names.join(", "));
    }
    for holder in &lock.holders {
        let reach = holder.reach.description();
        let _ = writeln!(text, "  {}\n    {reach}", holder.summary());
    }
}

fn add_row(text: &mut String, findings: &[&Finding]) {
    let _ = writeln!(text, "  row {}: {}", findings[0].row, findings[0].advice);
    for test in explain::tests(findings[0].row) {
        let _ = writeln!(text, "    test {test}");
    }
    let places = findings.iter().map(|f| {
        let unsure = if f.sure { "" } else { " (unsure)" };
        let test = if f.in_test { " (in a test)" } else { "" };
        let (file, line, column) = (&f.file, f.line, f.column);
        format!("{file}:{line}:{column} {}{test}{unsure}", f.item)
    });
    add_places(text, places, PLACES);
}

fn add_seams(text: &mut String, seams: &Seams) {
    for (title, places) in seams.described() {
        if !places.is_empty() {
            let _ = writeln!(text, "seams: {title} ({})", places.len());
            add_places(text, places.into_iter(), PLACES);
        }
    }
}

fn add_tasks(text: &mut String, title: &str, tasks: &[Task], limit: usize) {
    let _ = writeln!(text, "{title}");
    for task in tasks {
        let _ = writeln!(text, "  {}", task.what);
        add_places(text, task.places.iter().cloned(), limit);
    }
}

fn add_effort(text: &mut String, effort: &Effort) {
    let _ = writeln!(text, "effort: {}", effort.summary());
    for cost in &effort.costs {
        let _ = writeln!(text, "  {}", cost.summary());
    }
    for what in &effort.uncounted {
        let _ = writeln!(text, "  not counted: {what}");
    }
}

fn add_places(text: &mut String, mut places: impl ExactSizeIterator<Item = String>, limit: usize) {
    for place in places.by_ref().take(limit) {
        let _ = writeln!(text, "    {place}");
    }
    if places.len() > 0 {
        let _ = writeln!(text, "    and {} more", places.len());
    }
}
