//! Copies and lists folders.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Package;

use crate::check::Role;

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
        // In a worktree or submodule, `.git` is a file that leads to the original repository.
        } else if metadata.is_file() && entry.file_name() != ".git" {
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

/// Copies a file with its time and permissions; the owner may write to the copy.
fn copy_file(from: &Path, to: &Path, metadata: &fs::Metadata) -> std::io::Result<()> {
    let modified = metadata.modified()?;
    let mut permissions = metadata.permissions();
    permissions.set_mode(permissions.mode() | 0o200);
    let is_same = fs::metadata(to).is_ok_and(|old| {
        old.len() == metadata.len()
            && old.permissions() == permissions
            && old.modified().is_ok_and(|time| time == modified)
    });
    if !is_same {
        let _ = fs::remove_file(to);
        fs::copy(from, to)?;
        fs::set_permissions(to, permissions)?;
        fs::File::open(to)?.set_modified(modified)?;
    }
    Ok(())
}

/// Whether a folder is build output, which cargo puts beside a manifest, or version control.
pub fn is_left_out(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name == ".git"
        || name == "target" && folder.with_file_name("Cargo.toml").exists()
        || folder.join("CACHEDIR.TAG").exists()
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

/// The `.rs` files of the package in a folder, without those of packages below it.
pub fn rust_files_of(package: &Path) -> Result<Vec<PathBuf>> {
    let mut files = rust_files(package)?;
    files.retain(|file| {
        let above = file.ancestors().skip(1);
        let mut inside = above.take_while(|folder| *folder != package);
        !inside.any(|folder| folder.join("Cargo.toml").exists())
    });
    Ok(files)
}

/// The `.rs` files of a package's library and programs: those in the folders of their roots.
pub fn sources(package: &Package) -> Result<BTreeSet<PathBuf>> {
    let root = package.manifest_path.with_file_name("");
    let of_tests = ["tests", "examples", "benches"].map(|name| root.join(name));
    let mut files = BTreeSet::new();
    for target in &package.targets {
        let is_code = !matches!(Role::of(target), None | Some(Role::Test));
        if let Some(folder) = target.src_path.parent().filter(|_| is_code) {
            files.extend(rust_files(folder.as_std_path())?);
        }
    }
    files.retain(|file| !of_tests.iter().any(|folder| file.starts_with(folder)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_permissions_times_and_modules_named_target() {
        let folder = std::env::temp_dir().join(format!("legacy-scan-kept-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("src/target")).unwrap();
        fs::create_dir_all(from.join("target")).unwrap();
        fs::write(from.join("Cargo.toml"), "").unwrap();
        fs::write(from.join("src/target/mod.rs"), "").unwrap();
        let script = from.join("configure");
        fs::write(&script, "#!/bin/sh").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o555)).unwrap();
        copy_tree(&from, &to).unwrap();
        assert!(to.join("src/target/mod.rs").exists() && !to.join("target").exists());
        let copy = fs::metadata(to.join("configure")).unwrap();
        assert_eq!(copy.permissions().mode() & 0o777, 0o755);
        let original = fs::metadata(&script).unwrap();
        assert_eq!(copy.modified().unwrap(), original.modified().unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

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
