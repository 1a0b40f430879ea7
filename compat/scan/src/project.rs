//! The project to scan, and its copy in the scratch folder.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};
use toml_edit::{value, DocumentMut, InlineTable, Item};

use crate::files;
use crate::mark;
use crate::table::Table;
use crate::toolchain::{first_error, Toolchain};

/// A copy of a project, with its dependencies.
pub struct Project {
    /// What cargo says of the copy.
    pub metadata: Metadata,
    /// The folder for all that the scan writes.
    pub scratch: PathBuf,
}

impl Project {
    /// Copies the project of a manifest, with the local packages that it depends on, to a folder of
    /// its own in `scratch`. The original is only read.
    pub fn copy(
        manifest: &Path,
        scratch: &Path,
        vendor: Option<&Path>,
        toolchain: &Toolchain,
    ) -> Result<Self> {
        ensure!(
            manifest.is_file(),
            "cannot scan: no file {}; set another with --manifest-path",
            std::path::absolute(manifest)?.display()
        );
        let manifest = manifest.canonicalize()?;
        let roots = roots(&manifest, toolchain)?;
        let scratch = scratch.join(name_of(&manifest));
        fs::create_dir_all(&scratch)
            .with_context(|| format!("cannot make the folder {}", scratch.display()))?;
        // The paths that cargo names have neither links nor `..`.
        let scratch = scratch.canonicalize()?;
        let mirror = mirror(&scratch);
        for root in &roots {
            files::copy_tree(root, &mirrored(&mirror, root))?;
            copy_settings(root, &mirror)?;
        }
        use_vendored(vendor, &scratch.join(".cargo"))?;
        let copy = mirrored(&mirror, &manifest);
        let metadata = read_metadata(&copy, toolchain, &["--all-features"])?;
        Ok(Self { metadata, scratch })
    }

    /// The copy, after its manifest or lock file was changed.
    pub fn read_again(&self, toolchain: &Toolchain) -> Result<Self> {
        let offline = Toolchain {
            offline: true,
            ..toolchain.clone()
        };
        let manifest = self.metadata.workspace_root.join("Cargo.toml");
        Ok(Self {
            metadata: read_metadata(manifest.as_std_path(), &offline, &["--all-features"])?,
            scratch: self.scratch.clone(),
        })
    }

    /// The packages that are the user's own: the workspace's, and what it takes from folders.
    pub fn local_packages(&self) -> impl Iterator<Item = &Package> {
        let is_own = |package: &&Package| package.source.is_none() && !self.is_hardened(package);
        self.metadata.packages.iter().filter(is_own)
    }

    /// The packages of futures 0.1's generation that come from a registry, or did before `--harden`.
    pub fn legacy_packages<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Package> {
        self.metadata.packages.iter().filter(|package| {
            table.covers(&package.name, &package.version)
                && (package.source.is_some() || self.is_hardened(package))
        })
    }

    /// Whether a package is a futures 0.1 in a folder, where `[patch]` or a dependency put it.
    fn is_hardened(&self, package: &Package) -> bool {
        package.source.is_none()
            && *package.name == "futures"
            && package.version.major == 0
            && package.version.minor == 1
    }

    /// Marks copies of those packages and puts them in the place of the real ones.
    pub fn mark(&self, table: &Table) -> Result<()> {
        let root = self
            .metadata
            .workspace_root
            .as_std_path()
            .join("Cargo.toml");
        let mut manifest: DocumentMut = files::read(&root)?
            .parse()
            .with_context(|| format!("cannot read {}", root.display()))?;
        for package in self.legacy_packages(table) {
            let source = package.source.as_ref().map(ToString::to_string);
            let registry = match &source {
                Some(source) => registry(source).with_context(|| {
                    format!(
                        "{} comes from {source}, and only crates of a registry can be marked",
                        package.name
                    )
                })?,
                None => {
                    let folder = package.manifest_path.with_file_name("");
                    ensure!(
                        unpatch(&mut manifest, &package.name),
                        "cannot scan: {} is a dependency by its path {}; depend on a version of a \
                         registry, and move the path to [patch.crates-io]",
                        package.name,
                        self.shown(folder.as_std_path())
                    );
                    "crates-io"
                }
            };
            let folder = self.marked_folder(table, package)?;
            let mut patch = InlineTable::new();
            patch.insert("package", package.name.to_string().into());
            patch.insert("path", folder.to_string_lossy().into_owned().into());
            let key = format!(
                "legacy-scan-{}-{}",
                package.name,
                package.version.to_string().replace('.', "-")
            );
            let patches = manifest.entry("patch").or_insert(toml_edit::table());
            patches[registry].or_insert(toml_edit::table())[&key] = value(patch);
        }
        fs::write(&root, manifest.to_string())
            .with_context(|| format!("cannot write {}", root.display()))
    }

    /// The marked copy of a package, which a scan before may have made.
    fn marked_folder(&self, table: &Table, package: &Package) -> Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        (include_str!("../rows.toml"), include_str!("mark.rs")).hash(&mut hasher);
        let folder = marked(&self.scratch).join(format!("{}-{}", package.name, package.version));
        let stamp = folder.join(".legacy-scan");
        let version = format!("{:x}", hasher.finish());
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&version) {
            let from = package
                .manifest_path
                .parent()
                .context("a package has no folder")?;
            mark::copy_marked(table, &package.name, from.as_std_path(), &folder)?;
            fs::write(&stamp, version)?;
        }
        Ok(folder)
    }

    /// Where cargo puts what it builds for the scan.
    pub fn target(&self) -> PathBuf {
        self.scratch.join("target")
    }

    /// The original of a file of the copy; `None` for a file from elsewhere.
    pub fn original(&self, copy: &Path) -> Option<PathBuf> {
        copy.strip_prefix(mirror(&self.scratch))
            .ok()
            .map(|path| Path::new("/").join(path))
    }

    /// A file of the copy as reports name it: relative to the workspace, or absolute outside of it.
    pub fn shown(&self, copy: &Path) -> String {
        let relative = copy
            .strip_prefix(self.metadata.workspace_root.as_std_path())
            .map(Path::to_owned);
        relative
            .ok()
            .or_else(|| self.original(copy))
            .unwrap_or_else(|| copy.to_owned())
            .to_string_lossy()
            .into_owned()
    }

    /// The root of the original workspace.
    pub fn root(&self) -> PathBuf {
        let root = self.metadata.workspace_root.as_std_path();
        self.original(root).unwrap_or_else(|| root.to_owned())
    }
}

/// A registry as `[patch]` names it, from the source of a package that comes from one.
pub fn registry(source: &str) -> Option<&str> {
    let url = source.strip_prefix("registry+");
    match url.or_else(|| source.starts_with("sparse+").then_some(source))? {
        "https://github.com/rust-lang/crates.io-index" => Some("crates-io"),
        url => Some(url),
    }
}

/// Takes a crate out of each `[patch]`; false where none has it.
fn unpatch(manifest: &mut DocumentMut, name: &str) -> bool {
    let mut found = false;
    let tables = manifest
        .get_mut("patch")
        .and_then(|p| p.as_table_like_mut());
    for (_, table) in tables.into_iter().flat_map(|tables| tables.iter_mut()) {
        if let Some(table) = table.as_table_like_mut() {
            let is_it = |(key, item): &(&str, &Item)| {
                item.get("package").and_then(Item::as_str).unwrap_or(key) == name
            };
            let keys = table.iter().filter(is_it).map(|(key, _)| key.to_owned());
            for key in keys.collect::<Vec<_>>() {
                found |= table.remove(&key).is_some();
            }
        }
    }
    found
}

/// The folder of the marked crates.
pub fn marked(scratch: &Path) -> PathBuf {
    scratch.join("marked")
}

/// The folder below which the copy of the project has the absolute path of the original.
pub fn mirror(scratch: &Path) -> PathBuf {
    scratch.join("tree")
}

/// The path of a file in the mirror.
fn mirrored(mirror: &Path, path: &Path) -> PathBuf {
    mirror.join(path.strip_prefix("/").unwrap_or(path))
}

/// A name for the project's folder in the scratch folder.
fn name_of(manifest: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    manifest.hash(&mut hasher);
    let folder = manifest
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default();
    format!("{}-{:016x}", folder.to_string_lossy(), hasher.finish())
}

fn read_metadata(manifest: &Path, toolchain: &Toolchain, arguments: &[&str]) -> Result<Metadata> {
    let folder = manifest.parent().context("the manifest has no folder")?;
    let output = toolchain
        .cargo(folder, "metadata")
        .args(["--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .args(arguments)
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "cargo cannot read the project: {}",
            first_error(&String::from_utf8_lossy(&output.stderr))
        );
    }
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout))
        .context("cannot read what cargo metadata printed")
}

/// The folders to copy: the workspace and each local package, or the repository around them, since
/// sources may name files above their package. None is copied with another; the outer come first.
fn roots(manifest: &Path, toolchain: &Toolchain) -> Result<Vec<PathBuf>> {
    let mut to_read = vec![manifest.to_owned()];
    let (mut seen, mut folders) = (BTreeSet::new(), BTreeSet::new());
    while let Some(manifest) = to_read.pop() {
        if !seen.insert(manifest.clone()) {
            continue;
        }
        let metadata = read_metadata(&manifest, toolchain, &["--no-deps"])?;
        folders.insert(repository_of(metadata.workspace_root.as_std_path()));
        for package in &metadata.packages {
            seen.insert(package.manifest_path.clone().into_std_path_buf());
            folders.insert(repository_of(
                package
                    .manifest_path
                    .parent()
                    .context("a package has no folder")?
                    .as_std_path(),
            ));
            to_read.extend(
                package
                    .dependencies
                    .iter()
                    .filter_map(|d| Some(d.path.as_ref()?.join("Cargo.toml").into_std_path_buf())),
            );
        }
    }
    let is_copied_with = |folder: &Path, other: &PathBuf| {
        let below = folder.ancestors().take_while(|above| above != other);
        folder != other && folder.starts_with(other) && !{ below }.any(files::is_left_out)
    };
    Ok(folders
        .iter()
        .filter(|folder| !folders.iter().any(|other| is_copied_with(folder, other)))
        .cloned()
        .collect())
}

/// The repository that a folder belongs to, or the folder. A repository of the home folder holds
/// settings and no project.
pub fn repository_of(folder: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let repository = folder
        .ancestors()
        // What lies below these isn't copied with the repository.
        .take_while(|folder| !files::is_left_out(folder))
        .find(|folder| folder.join(".git").exists());
    repository
        .filter(|found| home.as_deref().is_none_or(|home| !home.starts_with(found)))
        .unwrap_or(folder)
        .to_owned()
}

/// Copies cargo's settings from the folders above, but for the user's own, which cargo finds anyway.
fn copy_settings(root: &Path, mirror: &Path) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    for folder in root.ancestors().skip(1).map(|folder| folder.join(".cargo")) {
        // Beside them a folder of cargo's own has credentials and the registry.
        for file in ["config", "config.toml"].map(|name| folder.join(name)) {
            let copy = mirrored(mirror, &file);
            if Some(&folder) != home.as_ref() && file.is_file() {
                fs::create_dir_all(mirrored(mirror, &folder))?;
                fs::copy(&file, &copy)
                    .with_context(|| format!("cannot copy {}", file.display()))?;
            } else if copy.exists() {
                fs::remove_file(copy)?;
            }
        }
    }
    Ok(())
}

/// Makes cargo take crates from a folder of `cargo vendor`, or no longer, by its settings in a folder.
fn use_vendored(vendor: Option<&Path>, folder: &Path) -> Result<()> {
    let file = folder.join("config.toml");
    let Some(vendor) = vendor else {
        if file.exists() {
            fs::remove_file(file)?;
        }
        return Ok(());
    };
    ensure!(
        vendor.is_dir(),
        "cannot scan: --vendor {} isn't a folder; make one with cargo vendor",
        vendor.display()
    );
    let mut settings = DocumentMut::new();
    settings["source"]["crates-io"]["replace-with"] = value("legacy-scan-vendor");
    settings["source"]["legacy-scan-vendor"]["directory"] =
        value(vendor.canonicalize()?.to_string_lossy().into_owned());
    fs::create_dir_all(folder)?;
    fs::write(file, settings.to_string())?;
    Ok(())
}
