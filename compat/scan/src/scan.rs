//! From what the compiler reports to findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::check::{Checked, Use};
use crate::files;
use crate::finding::Finding;
use crate::project::Project;
use crate::shape::{Shape, Shapes};
use crate::syntax;
use crate::table::Table;

/// The sources of the project, read once.
#[derive(Default)]
pub struct Sources(BTreeMap<PathBuf, Shapes>);

impl Sources {
    pub fn shapes(&mut self, file: &Path) -> Result<&Shapes> {
        if !self.0.contains_key(file) {
            self.0
                .insert(file.to_owned(), Shapes::of(&files::read(file)?));
        }
        Ok(&self.0[file])
    }
}

/// The findings of a scan, in the order of files and lines: what the compiler reported, and for
/// packages that don't compile what their names suggest.
pub fn findings(
    table: &Table,
    project: &Project,
    checked: &Checked,
    sources: &mut Sources,
) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let reported: Vec<Use> = checked.uses.iter().cloned().collect();
    add(&mut findings, &reported, true, table, project, sources)?;
    for package in project
        .local_packages()
        .filter(|package| checked.failed.contains_key(&package.id))
    {
        let folder = package
            .manifest_path
            .parent()
            .context("a package has no folder")?;
        let known: BTreeSet<_> = findings.iter().map(Finding::place).collect();
        let mut guessed = Vec::new();
        add(
            &mut guessed,
            &syntax::uses(table, folder.as_std_path())?,
            false,
            table,
            project,
            sources,
        )?;
        // The compiler may have reported a part before it gave up.
        guessed.retain(|finding| !known.contains(&finding.place()));
        findings.extend(guessed);
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn add(
    findings: &mut Vec<Finding>,
    uses: &[Use],
    sure: bool,
    table: &Table,
    project: &Project,
    sources: &mut Sources,
) -> Result<()> {
    for used in uses {
        let shapes = sources.shapes(&used.file)?;
        if shapes.is_import((used.line, used.column)) {
            continue;
        }
        for rule in table.rules(&used.path) {
            let applies = match rule.shape {
                None => true,
                Some(Shape::Pair) => is_pair(used, uses, shapes),
                Some(shape) => shapes.has((used.line, used.column), shape) == rule.wanted,
            };
            if applies {
                findings.push(Finding {
                    file: project.shown(&used.file),
                    line: used.line,
                    column: used.column,
                    row: rule.row,
                    severity: rule.severity,
                    item: used.path.clone(),
                    advice: rule.advice.clone(),
                    sure,
                });
            }
        }
    }
    Ok(())
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
