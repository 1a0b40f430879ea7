//! What the compiler says of a project as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Result};
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};

use super::Edit;
use crate::check::{self, Lints, Targets};
use crate::parse;
use crate::project::Project;
use crate::shape::Position;
use crate::toolchain::Toolchain;

/// How the project is built each time.
pub struct Builds<'a> {
    pub project: &'a Project,
    pub toolchain: &'a Toolchain,
    pub features: &'a [Vec<String>],
    pub targets: Targets,
    /// Whether lints that the code denies only warn.
    pub cap: bool,
}

/// A file, and what the compiler would put where: from an offset to another.
pub type Suggestion = (PathBuf, Vec<(usize, usize, String)>);

/// What builds said.
#[derive(Default)]
pub struct Seen {
    /// Each error, with its file.
    pub errors: Vec<(Option<PathBuf>, String)>,
    /// Suggestions to write `dyn`: the file and its edits.
    pub dyns: BTreeSet<Suggestion>,
    /// Where `try!` is called.
    pub tries: BTreeSet<(PathBuf, Position)>,
    /// Where something is awaited that is no future.
    pub awaits: BTreeSet<(PathBuf, Position)>,
    /// The canonical paths of the source files that were compiled.
    pub compiled: BTreeSet<PathBuf>,
}

impl Builds<'_> {
    /// Builds the project.
    pub fn look(&self) -> Result<Seen> {
        let root = self.project.metadata.workspace_root.as_std_path();
        let lints = Lints {
            forced: "deprecated,bare_trait_objects",
            cap: self.cap,
        };
        let mut seen = Seen::default();
        for flags in self.features {
            let add = |said: &Diagnostic| seen.add(root, said);
            let built = check::build(
                self.project,
                self.toolchain,
                flags,
                self.targets,
                lints,
                add,
            )?;
            // A package that isn't compiled because of another has no diagnostic of its own.
            if seen.errors.is_empty() {
                let failed = built.failed.into_values();
                seen.errors.extend(failed.map(|error| (None, error)));
            }
            let files = built.files.into_keys();
            seen.compiled
                .extend(files.filter_map(|file| file.canonicalize().ok()));
        }
        Ok(seen)
    }

    /// Forgets what was built of the project, so that it is all built again.
    pub fn clean(&self) -> Result<()> {
        let root = self.project.metadata.workspace_root.as_std_path();
        let offline = Toolchain {
            offline: true,
            ..self.toolchain.clone()
        };
        let mut command = offline.cargo(root, "clean");
        command.arg("--target-dir").arg(self.project.target());
        for package in self.project.local_packages() {
            command.args(["-p", &package.id.repr]);
        }
        let output = command.output()?;
        ensure!(
            output.status.success(),
            "cargo clean failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

impl Seen {
    fn add(&mut self, root: &Path, said: &Diagnostic) {
        let primary = said.spans.iter().find(|span| span.is_primary);
        let place = primary.map(|span| {
            (
                root.join(&span.file_name),
                (span.line_start, span.column_start),
            )
        });
        let code = said.code.as_ref().map_or("", |code| &code.code);
        if said.level == DiagnosticLevel::Error {
            let file = place.as_ref().map(|(file, _)| file.clone());
            self.errors.push((file, said.message.clone()));
            if let (Some(place), "E0277") = (place, code) {
                if said.message.contains("is not a future") {
                    self.awaits.insert(place);
                }
            }
        } else if code == "bare_trait_objects" {
            for child in &said.children {
                self.dyns.extend(suggestion(root, child));
            }
        } else if code == "deprecated" && is_try(&said.message) {
            self.tries.extend(place);
        }
    }
}

/// Whether this is what the compiler says of the standard library's `try!`, and of no other.
fn is_try(message: &str) -> bool {
    let name = message
        .strip_prefix("use of deprecated macro `")
        .and_then(|rest| rest.strip_suffix("`: use the `?` operator instead"));
    name.is_some_and(|name| matches!(name.rsplit("::").next(), Some("try" | "r#try")))
}

/// What the compiler takes for applicable without a look at it.
fn suggestion(root: &Path, child: &Diagnostic) -> Option<Suggestion> {
    use cargo_metadata::diagnostic::Applicability::MachineApplicable;
    let file = root.join(&child.spans.first()?.file_name);
    let source = fs::read_to_string(&file).ok()?;
    let mut edits = Vec::new();
    for span in &child.spans {
        let with = span.suggested_replacement.clone()?;
        if span.suggestion_applicability != Some(MachineApplicable)
            || span.expansion.is_some()
            || root.join(&span.file_name) != file
        {
            return None;
        }
        let start = parse::offset(&source, (span.line_start, span.column_start));
        let end = parse::offset(&source, (span.line_end, span.column_end));
        edits.push((start, end, with));
    }
    Some((file, edits))
}

/// A suggestion as edits.
pub fn edits(suggestion: &[(usize, usize, String)]) -> Vec<Edit> {
    let edit = |(start, end, with): &(usize, usize, String)| (*start..*end, with.clone());
    suggestion.iter().map(edit).collect()
}
