//! What `--fix` and `--harden` change in the user's tree, as a diff or written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};
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
    /// The change that an edited file of the copy is to that of the tree, by its text before the first
    /// edit; `None` where nothing changed, or where the tree has no such file.
    pub fn of(project: &Project, copy: &Path, before: &str) -> Result<Option<Self>> {
        if !project.original(copy).is_some_and(|file| file.exists()) {
            return Ok(None);
        }
        let after = read(copy)?;
        Ok((before != after).then(|| Self {
            name: project.shown(copy),
            before: before.to_owned(),
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

    /// Fails unless the file is as it was when it was read, and git has it like that.
    fn check(&self, root: &Path) -> Result<()> {
        let file = root.join(&self.name);
        let shown = file.display();
        ensure!(
            !file.is_symlink(),
            "{shown} is a link; nothing is written: --write changes files only"
        );
        ensure!(
            read(&file)? == self.before,
            "{shown} was changed while this ran; nothing is written"
        );
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            bail!("{shown} is no file");
        };
        let committed = Command::new("git")
            .args(["cat-file", "--filters"])
            .arg(format!("HEAD:./{}", name.to_string_lossy()))
            .current_dir(folder)
            .output()
            .context(NEEDS_GIT)?;
        ensure!(
            committed.status.success() && committed.stdout == self.before.as_bytes(),
            "git cannot restore {shown}, which is not committed as it is; nothing is written: \
             commit it before --write"
        );
        Ok(())
    }

    /// Where the new text is until all are written.
    fn beside(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.{}.tmp", self.name, std::process::id()))
    }

    fn write_beside(&self, root: &Path) -> Result<()> {
        let (file, beside) = (root.join(&self.name), self.beside(root));
        fs::write(&beside, &self.after)
            .and_then(|()| fs::set_permissions(&beside, fs::metadata(&file)?.permissions()))
            .with_context(|| format!("cannot write {}; nothing is written", beside.display()))
    }

    fn put_in_place(&self, root: &Path) -> Result<()> {
        let file = root.join(&self.name);
        fs::rename(self.beside(root), &file)
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Fails unless git can undo each of these changes.
pub fn check(root: &Path, changes: &[Change]) -> Result<()> {
    changes.iter().try_for_each(|change| change.check(root))
}

/// Makes the changes in the tree, once it is sure that git can undo each and that all can be written.
pub fn write(root: &Path, changes: &[Change]) -> Result<()> {
    check(root, changes)?;
    let all = |step: fn(&Change, &Path) -> Result<()>| {
        changes.iter().try_for_each(|change| step(change, root))
    };
    let written = all(Change::write_beside).and_then(|()| all(Change::put_in_place));
    if written.is_err() {
        for change in changes {
            let _ = fs::remove_file(change.beside(root));
        }
    }
    written
}

/// Reads a text file of UTF-8, byte by byte as it is.
fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

const NEEDS_GIT: &str = "--write needs git, which can undo it";

/// Fails unless everything in the folder's repository is committed, before a build takes minutes. What is
/// to be written may be ignored by it or belong to another: see [`check`].
pub fn ensure_clean(folder: &Path) -> Result<()> {
    let output = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(folder)
        .output()
        .context(NEEDS_GIT)?;
    ensure!(
        output.status.success(),
        "{} isn't in a git repository, which --write requires",
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
    use std::os::unix::fs::PermissionsExt;

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
    fn git(folder: &Path, arguments: &[&str]) {
        let name = ["-c", "user.name=test", "-c", "user.email=test"];
        let mut command = Command::new("git");
        command.args(name).args(arguments).current_dir(folder);
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn all_changes_are_written_or_none() {
        let root = std::env::temp_dir().join(format!("tree-{}", std::process::id()));
        fs::create_dir_all(root.join("inner")).unwrap();
        let names = ["a", "inner/b", "c"];
        for name in names {
            fs::write(root.join(name), "old\n").unwrap();
        }
        fs::write(root.join(".gitignore"), "inner\n").unwrap();
        fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
        git(&root, &["init", "-q"]);
        // What is not tracked is no part of the status then.
        git(&root, &["config", "status.showUntrackedFiles", "no"]);
        git(&root, &["add", "a"]);
        git(&root, &["commit", "-qm", "all"]);
        let changes = names.map(|name| Change {
            name: name.to_owned(),
            before: "old\n".to_owned(),
            after: "new\n".to_owned(),
        });
        let refused = |changed: &str, why: &str| {
            ensure_clean(&root).unwrap();
            let error = write(&root, &changes).unwrap_err().to_string();
            assert!(error.contains(changed) && error.contains(why), "{error}");
            assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "old\n");
            assert_eq!(fs::read_dir(&root).unwrap().count(), 5, "a file is left");
        };
        refused("inner/b", "git cannot restore");
        // The ignored folder becomes a repository of its own.
        git(&root.join("inner"), &["init", "-q"]);
        git(&root.join("inner"), &["add", "b"]);
        git(&root.join("inner"), &["commit", "-qm", "all"]);
        refused("/c", "git cannot restore");
        git(&root, &["add", "c"]);
        git(&root, &["commit", "-qm", "c"]);
        fs::write(root.join("c"), "mine\n").unwrap();
        git(&root, &["commit", "-qam", "mine"]);
        refused("/c", "was changed while this ran");
        fs::remove_file(root.join("c")).unwrap();
        std::os::unix::fs::symlink("a", root.join("c")).unwrap();
        git(&root, &["commit", "-qam", "link"]);
        refused("/c", "is a link");

        write(&root, &changes[..2]).unwrap();
        for name in &names[..2] {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "new\n");
        }
        let mode = fs::metadata(root.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        fs::remove_dir_all(&root).unwrap();
    }
}
