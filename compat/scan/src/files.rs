//! Copies and lists folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Reads a text file; bytes that are not UTF-8 are replaced.
pub fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes `to` a copy of a folder without build output and version control. Times are kept, so that
/// cargo rebuilds only what changed.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to).with_context(context)?;
    for old in fs::read_dir(to).with_context(context)? {
        let old = old.with_context(context)?;
        let path = old.path();
        if kind(&path) != kind(&from.join(old.file_name())) {
            let removed = if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.with_context(context)?;
        }
    }
    for entry in fs::read_dir(from).with_context(context)? {
        let entry = entry.with_context(context)?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            // A link to a folder could lead back to where it is.
            if entry.file_type().with_context(context)?.is_symlink() {
                copy_link(&path, &target).with_context(context)?;
            } else if !is_left_out(&path) {
                copy_tree(&path, &target)?;
            }
        } else if metadata.is_file() {
            copy_file(&path, &target, &metadata).with_context(context)?;
        }
    }
    Ok(())
}

/// Whether a path leads to a folder, and whether it is a link to one; `None` where it leads nowhere.
/// A link to a file counts as a file, as which it is copied.
fn kind(path: &Path) -> Option<(bool, bool)> {
    let is_folder = fs::metadata(path).ok()?.is_dir();
    Some((is_folder, is_folder && path.is_symlink()))
}

/// Copies a link within the tree, which leads to the copy of what it led to.
fn copy_link(from: &Path, to: &Path) -> std::io::Result<()> {
    let leads_to = fs::read_link(from)?;
    if leads_to.is_relative() && fs::read_link(to).ok().as_ref() != Some(&leads_to) {
        let _ = fs::remove_file(to);
        std::os::unix::fs::symlink(leads_to, to)?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, metadata: &fs::Metadata) -> std::io::Result<()> {
    let modified = metadata.modified()?;
    let is_same = fs::metadata(to).is_ok_and(|old| {
        old.len() == metadata.len() && old.modified().is_ok_and(|time| time == modified)
    });
    if !is_same {
        let _ = fs::remove_file(to);
        fs::write(to, fs::read(from)?)?;
        fs::OpenOptions::new()
            .write(true)
            .open(to)?
            .set_modified(modified)?;
    }
    Ok(())
}

/// Whether a folder is build output or version control.
pub fn is_left_out(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name == ".git" || name == "target" || folder.join("CACHEDIR.TAG").exists()
}

/// The `.rs` files below a folder, in order.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            // A link may lead back to where it is.
            let leads_up =
                path.is_symlink() && folder.canonicalize()?.starts_with(path.canonicalize()?);
            if !is_left_out(&path) && !leads_up {
                files.extend(rust_files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_what_becomes_a_folder_or_a_link() {
        let folder = std::env::temp_dir().join(format!("legacy-scan-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        let name = from.join("a");
        fs::create_dir_all(name.join("b")).unwrap();
        copy_tree(&from, &to).unwrap();
        fs::remove_dir_all(&name).unwrap();
        fs::create_dir(from.join("c")).unwrap();
        std::os::unix::fs::symlink("c", &name).unwrap();
        copy_tree(&from, &to).unwrap();
        assert!(to.join("a").is_symlink() && to.join("a").is_dir());
        fs::remove_file(&name).unwrap();
        fs::write(&name, "text").unwrap();
        copy_tree(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("a")).unwrap(), b"text");
        fs::remove_dir_all(&folder).unwrap();
    }
}
