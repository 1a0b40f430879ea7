//! What `--fix` and `--harden` change in the user's tree, as a diff or for good.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use similar::TextDiff;

use crate::project::Project;

/// A text file that the tree has, and what it becomes.
#[derive(Debug)]
pub struct Change {
    /// Relative to the workspace.
    pub name: String,
    pub before: String,
    pub after: String,
}

impl Change {
    /// The change that a file of the copy is to that of the tree; `None` where there is none, or where
    /// the tree has no such file.
    pub fn of(project: &Project, copy: &Path) -> Result<Option<Self>> {
        let Some(original) = project.original(copy).filter(|file| file.exists()) else {
            return Ok(None);
        };
        let read = |file: &Path| {
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
        };
        let (before, after) = (read(&original)?, read(copy)?);
        Ok((before != after).then(|| Self {
            name: project.shown(copy),
            before,
            after,
        }))
    }

    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        TextDiff::from_lines(&self.before, &self.after)
            .unified_diff()
            .header(&format!("a/{}", self.name), &format!("b/{}", self.name))
            .to_string()
    }

    /// Makes the change in the tree, unless the file was changed since it was read.
    pub fn write(&self, root: &Path) -> Result<()> {
        let file = root.join(&self.name);
        ensure!(
            fs::read_to_string(&file).is_ok_and(|now| now == self.before),
            "{} was changed while this ran",
            file.display()
        );
        fs::write(&file, &self.after).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Checks that git can undo what is to be written: everything in the folder's repository is committed.
pub fn ensure_clean(folder: &Path) -> Result<()> {
    let output = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(folder)
        .output()
        .context("--write needs git, which can undo it")?;
    ensure!(
        output.status.success(),
        "{} is in no git repository, and --write needs one to undo it by",
        folder.display()
    );
    ensure!(
        output.stdout.is_empty(),
        "{} has changes that are not committed: commit them before --write",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_the_file_and_keeps_line_ends() {
        let change = Change {
            name: "src/lib.rs".to_owned(),
            before: "a\r\nb\r\nc".to_owned(),
            after: "a\r\nd\r\nc".to_owned(),
        };
        assert_eq!(
            change.diff(),
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+d\r\n c\n\\ No newline at end of file\n"
        );
    }
}
