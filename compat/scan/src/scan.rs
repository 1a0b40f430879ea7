//! From what the compiler reports to findings.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::check::{Checked, Use};
use crate::finding::Finding;
use crate::project::Project;
use crate::shape::{Shape, Shapes};
use crate::sources::Sources;
use crate::syntax;
use crate::table::Table;

/// All uses: what the compiler reported, and of packages that don't compile what their names
/// suggest.
pub fn uses(table: &Table, project: &Project, checked: &Checked) -> Result<Vec<Use>> {
    let mut uses: Vec<Use> = checked.uses.iter().cloned().collect();
    let packages = project.legacy_packages(table);
    let crates: BTreeSet<_> = packages.map(|p| p.name.replace('-', "_")).collect();
    for package in project
        .local_packages()
        .filter(|package| checked.failed.contains_key(&package.id))
    {
        let folder = package
            .manifest_path
            .parent()
            .context("a package has no folder")?;
        let place = |used: &Use| (used.file.clone(), used.line, used.column);
        // The compiler may have reported a part before it gave up.
        let known: BTreeSet<_> = uses.iter().map(place).collect();
        let mut guessed = syntax::uses(table, &crates, folder.as_std_path())?;
        guessed.retain(|used| !known.contains(&place(used)));
        uses.extend(guessed);
    }
    uses.sort();
    uses.dedup();
    Ok(uses)
}

/// What the table says of the uses, in the order of files and lines.
pub fn findings(table: &Table, uses: &[Use], sources: &Sources) -> Vec<Finding> {
    let mut findings = Vec::new();
    for used in uses {
        let source = sources.of(&used.file);
        let at = (used.line, used.column);
        if source.shapes.is_import(at) {
            continue;
        }
        for rule in table.rules(&used.path) {
            let applies = match rule.shape {
                None => true,
                Some(Shape::Pair) => is_pair(used, uses, &source.shapes),
                Some(shape) => source.shapes.has(at, shape) == rule.wanted,
            };
            if applies {
                findings.push(Finding {
                    file: source.shown.clone(),
                    line: used.line,
                    column: used.column,
                    row: rule.row,
                    severity: rule.severity,
                    item: used.path.clone(),
                    advice: rule.advice.clone(),
                    sure: used.sure,
                    in_test: source.is_test(used.line),
                });
            }
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

/// Whether the same item is used elsewhere in the function, too.
fn is_pair(used: &Use, uses: &[Use], shapes: &Shapes) -> bool {
    let function = shapes.function((used.line, used.column));
    uses.iter().any(|other| {
        other != used
            && other.file == used.file
            && other.path == used.path
            && function.is_some()
            && shapes.function((other.line, other.column)) == function
    })
}
