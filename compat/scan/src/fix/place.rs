//! Which file of a project's copy belongs to which package, and which may be edited.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Package;

use crate::files;
use crate::project::Project;

/// Whether a file of the copy stands for one of the tree, and not for a link to one.
pub fn may_edit(project: &Project, file: &Path) -> bool {
    let tail = || {
        let folder = package_of(project, file)?.manifest_path.with_file_name("");
        let root = project.original(folder.as_std_path())?;
        let inner = project.original(file)?.strip_prefix(&root).ok()?.to_owned();
        // Above the package there may be links.
        Some(root.canonicalize().ok()?.join(inner))
    };
    tail().is_some_and(|path| path.canonicalize().is_ok_and(|real| real == path))
}

/// The workspace's package with the file, the innermost.
pub fn package_of<'a>(project: &'a Project, file: &Path) -> Option<&'a Package> {
    let packages = project.metadata.workspace_packages().into_iter();
    let folder = |package: &Package| package.manifest_path.with_file_name("");
    packages
        .filter(|package| file.starts_with(folder(package)))
        .max_by_key(|package| folder(package).as_str().len())
}

/// Whether a canonical path is that of a file in a local package's folder.
pub fn is_in_a_package(project: &Project, file: &Path) -> bool {
    project.local_packages().any(|package| {
        let folder = package.manifest_path.with_file_name("").canonicalize();
        folder.is_ok_and(|folder| file.starts_with(folder))
    })
}

/// The `.rs` files of a package, without those of packages below it.
pub fn sources_of(package: &Package) -> Result<Vec<PathBuf>> {
    let folder = package
        .manifest_path
        .parent()
        .context("a package has no folder")?;
    files::rust_files_of(folder.as_std_path())
}
