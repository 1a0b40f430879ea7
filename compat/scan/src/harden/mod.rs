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
use crate::tree::{self, Change};

/// The folder of the workspace that gets the copy.
const PATCHED: &str = "patched";
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

impl Hardened {
    /// Copies futures into the tree, and makes the changes there.
    pub fn write(&self, root: &Path) -> Result<()> {
        let changes = &self.changes[1..];
        ensure_free(root, &self.folder)?;
        tree::check(root, changes)?;
        let folder = root.join(&self.folder);
        let written =
            files::copy_tree(&self.copy, &folder).and_then(|()| tree::write(root, changes));
        if written.is_err() {
            let _ = fs::remove_dir_all(folder);
        }
        written
    }
}

/// Fails where the tree has something at the place of the copy, or a link that leads elsewhere.
fn ensure_free(root: &Path, folder: &str) -> Result<()> {
    let parent = root.join(PATCHED);
    let is_folder = parent
        .symlink_metadata()
        .map_or(true, |found| found.is_dir());
    ensure!(
        is_folder,
        "{} isn't a folder, and --harden copies futures there",
        parent.display()
    );
    ensure!(
        root.join(folder).symlink_metadata().is_err(),
        "{folder} already exists"
    );
    Ok(())
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
        Handles::Sound => bail!("futures {version} is already hardened"),
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
    let folder = format!("{PATCHED}/futures-{version}");
    let copy = root.join(&folder);
    ensure_free(&project.root(), &folder)?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let patched_manifest = patched(&manifest, registry, &folder)?;
    // The copy has a lock file that cargo has made or brought up to date.
    let lock = fs::read_to_string(project.root().join("Cargo.lock")).unwrap_or_default();
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

    fs::write(root.join("Cargo.toml"), patched_manifest)?;
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
    for (name, before) in [("Cargo.toml", manifest), ("Cargo.lock", lock)] {
        changes.extend(Change::of(project, &root.join(name), &before)?);
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

/// A manifest that takes futures from a folder instead of a registry, with the line ends that it has.
fn patched(manifest: &str, registry: &str, folder: &str) -> Result<String> {
    let mut document: DocumentMut = manifest.parse().context("cannot read Cargo.toml")?;
    let mut implicit = toml_edit::Table::new();
    implicit.set_implicit(true);
    let patches = document
        .entry("patch")
        .or_insert(toml_edit::Item::Table(implicit));
    let patches = patches[registry].or_insert(toml_edit::table());
    ensure!(
        patches.get("futures").is_none(),
        "[patch.{registry}] in Cargo.toml already has futures; give that entry another key, as in \
         futures-03 = {{ package = \"futures\", … }}"
    );
    let mut path = InlineTable::new();
    path.insert("path", folder.into());
    patches["futures"] = value(path);
    let text = document.to_string().replace("\r\n", "\n");
    let crlf = manifest.matches("\r\n").count();
    if crlf > 0 && crlf == manifest.matches('\n').count() {
        return Ok(text.replace('\n', "\r\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_added_and_none_is_replaced() {
        for (before, after) in [
            ("[workspace]\r\n", "[workspace]\r\n\r\n[patch.crates-io]\r\nfutures = { path = \"a\" }\r\n"),
            (
                "[patch.crates-io]\nlog = { path = \"log\" } # ä\n\n[workspace]\n",
                "[patch.crates-io]\nlog = { path = \"log\" } # ä\nfutures = { path = \"a\" }\n\n[workspace]\n",
            ),
        ] {
            assert_eq!(patched(before, "crates-io", "a").unwrap(), after);
            let error = patched(after, "crates-io", "a").unwrap_err().to_string();
            assert!(error.contains("already has futures"), "{error}");
        }
    }

    #[test]
    fn the_handles_of_a_future_are_found_by_its_source() {
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
