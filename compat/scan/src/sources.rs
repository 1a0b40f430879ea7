//! The source files of the project, read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::check::{Checked, Role, Targets, Use};
use crate::outline::Outline;
use crate::project::Project;
use crate::shape::Shapes;
use crate::{files, parse};

/// The source files that were compiled, or would have been, by their path in the copy.
pub struct Sources(BTreeMap<PathBuf, Source>);

/// A source file.
pub struct Source {
    /// As reports name it.
    pub shown: String,
    pub role: Role,
    pub shapes: Shapes,
    pub outline: Outline,
}

impl Sources {
    /// Reads the files that the compiler read, those of packages that don't compile, and those with
    /// a use in them.
    pub fn read(
        project: &Project,
        checked: &Checked,
        uses: &[Use],
        targets: Targets,
    ) -> Result<Self> {
        let mut roles = checked.files.clone();
        for package in project
            .local_packages()
            .filter(|package| checked.failed.contains_key(&package.id))
        {
            for target in &package.targets {
                let (Some(role), Some(folder)) = (Role::of(target), target.src_path.parent())
                else {
                    continue;
                };
                if role != Role::Test {
                    for file in files::rust_files(folder.as_std_path())? {
                        roles.entry(file).or_insert(role);
                    }
                }
            }
        }
        for used in uses {
            roles.entry(used.file.clone()).or_insert(Role::Program);
        }
        let read = |(file, role): (PathBuf, Role)| {
            let original = files::read(&file)?;
            let (text, syntax) = match parse::file(&original) {
                Ok((text, syntax)) => (text, Some(syntax)),
                Err(error) => {
                    let file = file.display();
                    eprintln!("uses in {file} that depend on their form are missed: {error}");
                    (original.clone(), None)
                }
            };
            let shapes = syntax.as_ref().map(Shapes::of).unwrap_or_default();
            let source = Source {
                shown: project.shown(&file),
                role,
                shapes: shapes.in_source(&original, &text),
                outline: Outline::of(&text, syntax.as_ref(), targets.tests),
            };
            Ok((file, source))
        };
        Ok(Self(roles.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// The file of a use.
    pub fn of(&self, file: &Path) -> &Source {
        &self.0[file]
    }

    /// All files, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Source)> {
        self.0.iter().map(|(path, source)| (path.as_path(), source))
    }
}

impl Source {
    /// Whether a line is part of a test, or of a test's file.
    pub fn is_test(&self, line: usize) -> bool {
        self.role == Role::Test || self.outline.is_test(line)
    }
}
