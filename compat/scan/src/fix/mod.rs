//! `--fix`: edits that can't change what the program does. Each is checked by the compiler, and
//! undone where the project doesn't build with it.

mod awaits;
mod look;
mod place;
mod plain;
mod rename;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{bail, Result};
use cargo_metadata::{Edition, Package};

use self::look::{Builds, Seen};
use self::tokens::Token;
use crate::check::Targets;
use crate::parse;
use crate::project::Project;
use crate::table::Table;
use crate::toolchain::Toolchain;
use crate::tree::Change;

/// What replaces a range of a text.
pub type Edit = (Range<usize>, String);

/// What `--fix` does to a project.
pub struct Fixed {
    pub changes: Vec<Change>,
    /// What it left alone, and why.
    pub kept: Vec<String>,
}

/// Edits the copy of a project as far as it builds before and after; the tree itself is only read.
pub fn fix(
    project: &Project,
    toolchain: &Toolchain,
    features: &[Vec<String>],
    table: &Table,
) -> Result<Fixed> {
    let targets = Targets {
        tests: true,
        examples: true,
    };
    let builds = Builds {
        project,
        toolchain,
        features,
        targets,
        cap: false,
    };
    let mut fixer = Fixer {
        builds,
        edited: BTreeMap::new(),
        kept: Vec::new(),
    };
    let mut seen = fixer.first_look()?;
    if !seen.errors.is_empty() {
        seen = fixer.wrap_awaits(&seen)?;
    }
    let plain = fixer.plain(&seen, table)?;
    fixer.stage(plain)?;
    let renames = fixer.renames(&seen.compiled)?;
    fixer.stage(renames)?;

    let edited = fixer.edited.iter();
    let changes = edited.map(|(file, before)| Change::of(project, file, before));
    let changes: Vec<_> = changes.collect::<Result<_>>()?;
    Ok(Fixed {
        changes: changes.into_iter().flatten().collect(),
        kept: fixer.kept,
    })
}

/// The text with the edits made. Edits at one place keep their order.
pub fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut result, mut at) = (String::new(), 0);
    for (range, with) in edits {
        // One that overlaps another is left out; the compiler sees to the rest.
        if range.start >= at {
            result += &text[at..range.start];
            result += &with;
            at = range.end;
        }
    }
    result + &text[at..]
}

/// Edits that are made or undone together: each file's new text.
struct Unit {
    name: String,
    files: BTreeMap<PathBuf, String>,
}

struct Fixer<'a> {
    builds: Builds<'a>,
    /// The text of each edited file before its first edit.
    edited: BTreeMap<PathBuf, String>,
    kept: Vec<String>,
}

impl Fixer<'_> {
    /// Builds with tests and examples. Where that fails, tries again without what the code denies,
    /// then without tests and examples.
    fn first_look(&mut self) -> Result<Seen> {
        let mut first = None;
        loop {
            self.builds.clean()?;
            let seen = self.builds.look()?;
            let Some((_, error)) = seen.errors.first().filter(|_| seen.awaits.is_empty()) else {
                if self.builds.targets == Targets::default() {
                    let error = first.unwrap_or_default();
                    let kept = format!("tests and examples: they do not build ({error})");
                    self.kept.push(kept);
                }
                return Ok(seen);
            };
            first = Some(error.clone());
            if !self.builds.cap {
                self.builds.cap = true;
            } else if self.builds.targets == Targets::default() {
                bail!("the project does not build, so nothing is changed: {error}");
            } else {
                self.builds.targets = Targets::default();
            }
        }
    }

    /// Makes a project build that awaits 0.1 futures, and says what the build said.
    fn wrap_awaits(&mut self, seen: &Seen) -> Result<Seen> {
        let mut places = BTreeMap::<_, Vec<_>>::new();
        for (file, place) in &seen.awaits {
            places.entry(file.clone()).or_default().push(*place);
        }
        for (file, places) in places {
            let Some(package) = place::package_of(self.builds.project, &file)
                .filter(|_| place::may_edit(self.builds.project, &file))
            else {
                continue;
            };
            let Some(adapter) = adapter(package) else {
                bail!(
                    "{} awaits a 0.1 future, and {} does not depend on tokio-core-compat",
                    self.builds.project.shown(&file),
                    package.name
                );
            };
            let source = fs::read_to_string(&file)?;
            let edits = awaits::wrapped(&source, &adapter, &places);
            fs::write(&file, apply(&source, edits))?;
            self.edited.insert(file, source);
        }
        let seen = self.builds.look()?;
        match seen.errors.first() {
            Some((_, error)) => bail!("the project does not build, so nothing is changed: {error}"),
            None => Ok(seen),
        }
    }

    /// The units of edits within one file.
    fn plain(&mut self, seen: &Seen, table: &Table) -> Result<Vec<Unit>> {
        let mut units = Vec::new();
        for package in self.builds.project.metadata.workspace_packages() {
            let mut sources = BTreeMap::new();
            for file in place::sources_of(package)? {
                let Ok(source) = fs::read_to_string(&file) else {
                    continue;
                };
                if let Some(tokens) = tokens::tokens(&source) {
                    sources.insert(file, (source, tokens));
                }
            }
            let is_path = |name: &str| {
                let goes_on_path = |tokens: &[Token]| {
                    let in_groups = tokens::in_path_groups(tokens);
                    (0..tokens.len()).any(|at| {
                        tokens[at].text == name
                            && (in_groups[at] || tokens::follows_name(tokens, at))
                    })
                };
                sources.values().any(|(_, tokens)| goes_on_path(tokens))
            };
            let crates = table.crates().map(|name| name.replace('-', "_"));
            let crates: Vec<_> = match package.edition {
                Edition::E2015 => Vec::new(),
                _ => crates.filter(|name| !is_path(name)).collect(),
            };
            for (file, (source, tokens)) in &sources {
                if !file
                    .canonicalize()
                    .is_ok_and(|file| seen.compiled.contains(&file))
                    || !place::may_edit(self.builds.project, file)
                {
                    continue;
                }
                let mut edits = plain::without_extern_crate(source, tokens, &crates);
                for (_, suggested) in seen.dyns.iter().filter(|(of, _)| of == file) {
                    edits.extend(
                        plain::with_dyn(source, tokens, &look::edits(suggested))
                            .into_iter()
                            .flatten(),
                    );
                }
                for (_, place) in seen.tries.iter().filter(|(of, _)| of == file) {
                    let at = parse::offset(source, *place);
                    edits.extend(plain::without_try(source, tokens, at).into_iter().flatten());
                }
                if !edits.is_empty() {
                    units.push(Unit {
                        name: self.builds.project.shown(file),
                        files: BTreeMap::from([(file.clone(), apply(source, edits))]),
                    });
                }
            }
        }
        Ok(units)
    }

    /// A unit for each package whose `futures` can have another name.
    fn renames(&mut self, compiled: &BTreeSet<PathBuf>) -> Result<Vec<Unit>> {
        let mut units = Vec::new();
        for package in self.builds.project.metadata.workspace_packages() {
            match rename::package(self.builds.project, package, compiled)? {
                Ok(files) if files.is_empty() => {}
                Ok(files) => units.push(Unit {
                    name: format!("the name futures in {}", package.name),
                    files,
                }),
                Err(why) => self
                    .kept
                    .push(format!("the name futures in {}: {why}", package.name)),
            }
        }
        Ok(units)
    }

    /// Makes the edits of all units, and undoes those that don't build.
    fn stage(&mut self, units: Vec<Unit>) -> Result<()> {
        let mut made = Vec::new();
        for unit in units {
            let mut before = BTreeMap::new();
            for (file, text) in &unit.files {
                before.insert(file.clone(), fs::read_to_string(file)?);
                fs::write(file, text)?;
            }
            made.push((unit, before));
        }
        while !made.is_empty() {
            let errors = match self.builds.look() {
                Ok(seen) => seen.errors,
                // cargo itself refuses, e.g. a manifest, which it names after those that lead to it.
                Err(error) => {
                    let error = format!("{error:#}");
                    let files = made.iter().flat_map(|(unit, _)| unit.files.keys());
                    let named = files.filter_map(|file| {
                        Some((error.rfind(&*file.to_string_lossy())?, file.clone()))
                    });
                    vec![(named.max().map(|(_, file)| file), error)]
                }
            };
            let Some((_, first)) = errors.first() else {
                break;
            };
            let broken = |unit: &Unit| {
                let files = errors.iter().filter_map(|(file, _)| file.as_ref());
                files.into_iter().any(|file| unit.files.contains_key(file))
            };
            // Where no error is in an edited file, any edit may be to blame.
            let (undone, rest) = made
                .into_iter()
                .partition::<Vec<_>, _>(|(unit, _)| broken(unit));
            let (undone, rest) = if undone.is_empty() {
                (rest, undone)
            } else {
                (undone, rest)
            };
            for (unit, before) in undone {
                for (file, text) in before {
                    fs::write(file, text)?;
                }
                self.kept
                    .push(format!("{}: it would not build ({first})", unit.name));
            }
            made = rest;
        }
        for (file, text) in made.into_iter().flat_map(|(_, before)| before) {
            self.edited.entry(file).or_insert(text);
        }
        Ok(())
    }
}

/// The adapters' crate as a package names it.
fn adapter(package: &Package) -> Option<String> {
    let found = package
        .dependencies
        .iter()
        .find(|d| d.name == "tokio-core-compat")?;
    let name = found.rename.as_ref().unwrap_or(&found.name);
    Some(name.replace('-', "_"))
}
