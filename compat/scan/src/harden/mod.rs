//! `--harden`: puts a copy of futures 0.1 into the tree whose `Notify` for `Arc` is sound.

mod proof;

use std::fs;
use std::path::Path;

use anyhow::{bail, ensure, Context, Result};
use cargo_metadata::Package;
use toml_edit::{value, DocumentMut, InlineTable};

use crate::files;
use crate::project::Project;
use crate::toolchain::Toolchain;
use crate::tree::Change;

/// Where every version of futures since 0.1.14 casts an `Arc` to a reference.
const FILE: &str = "src/task_impl/std/mod.rs";
const UNSOUND: &str = "struct ArcWrapped<T>(PhantomData<T>);";
const SOUND: &str = "\
// The array has no size. It says that what lies behind a reference to this type may change; without
// it the compiler may drop what `T::notify` writes.
struct ArcWrapped<T>(PhantomData<T>, [::std::sync::atomic::AtomicBool; 0]);";

/// What futures 0.1 makes task handles of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Handles {
    /// No `Arc`: futures before 0.1.14.
    Other,
    /// An `Arc`, behind a reference that the compiler takes for read-only.
    Unsound,
    /// An `Arc`, after `--harden`.
    Sound,
}

impl Handles {
    /// Reads the source of futures 0.1 in a folder.
    pub fn of(folder: &Path) -> Result<Self> {
        let file = folder.join(FILE);
        let source = if file.exists() {
            files::read(&file)?
        } else {
            String::new()
        };
        match source.matches(UNSOUND).count() {
            1 => Ok(Self::Unsound),
            _ if source.contains(SOUND) => Ok(Self::Sound),
            _ if !source.contains("ArcWrapped") => Ok(Self::Other),
            _ => bail!(
                "{} has another ArcWrapped than futures 0.1.14 to 0.1.31",
                file.display()
            ),
        }
    }
}

/// What `--harden` would do to the tree.
pub struct Hardened {
    /// The copy of futures: its folder in the copy of the project, and relative to the workspace.
    pub copy: std::path::PathBuf,
    pub folder: String,
    /// The change to the copied crate, and those to the manifest and the lock file.
    pub changes: Vec<Change>,
    /// What the proof printed.
    pub proof: String,
}

/// Hardens the copy of a project, and proves that it helps; the tree itself is only read.
pub fn harden(project: &Project, toolchain: &Toolchain) -> Result<Hardened> {
    let package = futures(project)?;
    let from = package
        .manifest_path
        .parent()
        .context("a package has no folder")?
        .as_std_path();
    let version = package.version.to_string();
    match Handles::of(from)? {
        Handles::Unsound => {}
        Handles::Sound => bail!("futures {version} is hardened already"),
        Handles::Other => bail!(
            "futures {version} makes no task handle of an Arc: --harden is for 0.1.14 to 0.1.31"
        ),
    }
    let source = package.source.as_ref().map(ToString::to_string);
    let source = source.with_context(|| {
        let original = project.original(from).unwrap_or_else(|| from.to_owned());
        format!(
            "futures {version} comes from {}, and only a crate of a registry is copied",
            original.display()
        )
    })?;
    let registry = crate::project::registry(&source)
        .with_context(|| format!("futures comes from {source}, which is no registry"))?;

    let root = project.metadata.workspace_root.as_std_path();
    let folder = format!("patched/futures-{version}");
    let copy = root.join(&folder);
    ensure!(!copy.exists(), "there is a folder {folder} already");
    files::copy_tree(from, &copy)?;
    for leftover in [
        "Cargo.lock",
        ".cargo-checksum.json",
        ".cargo-ok",
        "Cargo.toml.orig",
    ] {
        let _ = fs::remove_file(copy.join(leftover));
    }
    let before = files::read(&from.join(FILE))?;
    let after = before.replace(UNSOUND, SOUND);
    fs::write(copy.join(FILE), &after)?;

    patch(&root.join("Cargo.toml"), registry, &folder)?;
    let patched = project.read_again(toolchain)?;
    let used = futures(&patched)?.manifest_path.as_std_path();
    ensure!(
        used.starts_with(&copy),
        "cargo does not use the patch: it takes futures from {}",
        used.display()
    );
    let proof = proof::run(&project.scratch.join("proof"), from, &copy, toolchain)?;

    let mut changes = vec![Change {
        name: format!("{folder}/{FILE}"),
        before,
        after,
    }];
    for name in ["Cargo.toml", "Cargo.lock"] {
        changes.extend(Change::of(project, &root.join(name))?);
    }
    Ok(Hardened {
        copy,
        folder,
        changes,
        proof,
    })
}

/// The futures 0.1 of a project.
pub fn futures(project: &Project) -> Result<&Package> {
    let is_old =
        |p: &&Package| *p.name == "futures" && (p.version.major, p.version.minor) == (0, 1);
    project
        .metadata
        .packages
        .iter()
        .find(is_old)
        .with_context(|| {
            let root = project.root();
            format!("{} does not depend on futures 0.1", root.display())
        })
}

fn patch(manifest: &Path, registry: &str, folder: &str) -> Result<()> {
    let mut document: DocumentMut = files::read(manifest)?
        .parse()
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let mut implicit = toml_edit::Table::new();
    implicit.set_implicit(true);
    let patches = document
        .entry("patch")
        .or_insert(toml_edit::Item::Table(implicit));
    let mut path = InlineTable::new();
    path.insert("path", folder.into());
    patches[registry].or_insert(toml_edit::table())["futures"] = value(path);
    fs::write(manifest, document.to_string())
        .with_context(|| format!("cannot write {}", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handles_of_a_futures_are_told_by_its_source() {
        let folder = std::env::temp_dir().join(format!("handles-{}", std::process::id()));
        let file = folder.join(FILE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let of = |source: &str| {
            fs::write(&file, source).unwrap();
            Handles::of(&folder)
        };
        assert_eq!(of(UNSOUND).unwrap(), Handles::Unsound);
        assert_eq!(of(SOUND).unwrap(), Handles::Sound);
        assert_eq!(of("struct Task;").unwrap(), Handles::Other);
        assert!(of("struct ArcWrapped<T>(T);").is_err());
        assert!(of(&UNSOUND.repeat(2)).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
