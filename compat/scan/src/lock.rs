//! What the lock file holds of that generation, and what holds it there.

use std::collections::BTreeMap;

use anyhow::Result;
use cargo_metadata::semver::Version;
use cargo_metadata::{Package, PackageId};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::project::Project;
use crate::table::Table;

/// The packages of futures 0.1's generation in a lock file, and those that use them.
#[derive(Debug, Serialize)]
pub struct Lock {
    /// Which reactor drives the sockets, and on which thread.
    pub reactor: &'static str,
    /// Versions that hand the kernel broken addresses, each with its cure.
    pub broken: Vec<String>,
    /// Each with the package that it is about.
    pub advisories: Vec<String>,
    pub packages: Vec<Old>,
    pub libraries: Vec<Library>,
}

/// A package of that generation.
#[derive(Debug, Serialize)]
pub struct Old {
    pub package: String,
    /// The packages that depend on it directly.
    pub used_by: Vec<String>,
    pub successor: Option<String>,
}

/// A package of a registry that depends on tokio-core directly. The drop-in serves it unchanged.
#[derive(Debug, Serialize)]
pub struct Library {
    pub package: String,
    /// Whether its source makes a Core, and so blocks the thread that it runs on.
    pub owns_core: bool,
    pub successor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    broken: Vec<Broken>,
    advisories: BTreeMap<String, String>,
    successors: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Broken {
    name: String,
    series: Option<String>,
    before: Version,
    cure: String,
}

impl Lock {
    /// Reads the packages that cargo resolved, with all features and for all platforms.
    pub fn of(project: &Project, table: &Table) -> Result<Self> {
        let facts: Facts =
            toml_edit::de::from_str(include_str!("../locks.toml")).expect("locks.toml is valid");
        let all = &project.metadata.packages;
        let users = users(project);
        let used_by = |package: &Package| users.get(&package.id).cloned().unwrap_or_default();
        let core = all.iter().find(|package| *package.name == "tokio-core");
        let successor = |package: &Package| facts.successors.get(package.name.as_str()).cloned();
        let mut libraries = Vec::new();
        for user in all.iter().filter(|user| user.source.is_some()) {
            if core.is_some_and(|core| used_by(core).contains(&shown(user))) {
                libraries.push(Library {
                    package: shown(user),
                    owns_core: owns_core(user)?,
                    successor: successor(user),
                });
            }
        }
        Ok(Self {
            reactor: reactor(core, all),
            broken: all
                .iter()
                .filter_map(|package| {
                    facts
                        .broken
                        .iter()
                        .find(|b| b.is(package))
                        .map(|b| format!("{}: {}", shown(package), b.cure))
                })
                .collect(),
            advisories: all
                .iter()
                .filter_map(|package| {
                    Some(format!(
                        "{}: {}",
                        shown(package),
                        facts.advisories.get(package.name.as_str())?
                    ))
                })
                .collect(),
            packages: project
                .legacy_packages(table)
                .map(|package| Old {
                    package: shown(package),
                    used_by: used_by(package),
                    successor: successor(package),
                })
                .collect(),
            libraries,
        })
    }
}

impl Broken {
    fn is(&self, package: &Package) -> bool {
        let series = format!("{}.{}", package.version.major, package.version.minor);
        *package.name == self.name
            && package.version < self.before
            && self.series.as_ref().is_none_or(|wanted| *wanted == series)
    }
}

/// The reactor by the version of tokio-core: from 0.1.13 on it is a shell around tokio 0.1.
fn reactor(core: Option<&Package>, all: &[Package]) -> &'static str {
    let own = |core: &&Package| core.version < Version::new(0, 1, 13);
    match core {
        Some(core) if core.source.is_none() => "that of the tokio-core in a folder of yours",
        Some(core) if own(&core) => "tokio-core's own, on the thread of the Core",
        Some(_) => "tokio 0.1's, on a thread of its own, under tokio-core",
        None if all.iter().any(|p| *p.name == "tokio-reactor") => "tokio 0.1's",
        None => "none: no socket and no timer of that generation",
    }
}

/// The direct dependents of each package.
fn users(project: &Project) -> BTreeMap<&PackageId, Vec<String>> {
    let mut users = BTreeMap::<_, Vec<_>>::new();
    for node in project
        .metadata
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes)
    {
        for dependency in &node.deps {
            users
                .entry(&dependency.pkg)
                .or_default()
                .push(shown(&project.metadata[&node.id]));
        }
    }
    users.values_mut().for_each(|names| names.sort());
    users
}

fn shown(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Whether a library's source makes a Core outside of its tests and examples.
fn owns_core(package: &Package) -> Result<bool> {
    let source = package.manifest_path.with_file_name("src");
    for file in files::rust_files(source.as_std_path())? {
        let code = files::read(&file)?;
        let calls =
            |line: &str| line.contains("Core::new(") && !line.trim_start().starts_with("//");
        if code
            .lines()
            .take_while(|line| !line.contains("#[cfg(test)]"))
            .any(calls)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str) -> Package {
        let json = serde_json::json!({
            "name": name, "version": version, "id": format!("{name} {version}"), "dependencies": [],
            "targets": [], "features": {}, "manifest_path": "Cargo.toml",
            "source": "registry+https://github.com/rust-lang/crates.io-index",
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_version_is_broken_up_to_its_cure() {
        let facts: Facts = toml_edit::de::from_str(include_str!("../locks.toml")).unwrap();
        let broken = |name, version| facts.broken.iter().any(|b| b.is(&package(name, version)));
        assert!(broken("net2", "0.2.35") && !broken("net2", "0.2.36"));
        assert!(broken("mio", "0.6.22") && !broken("mio", "0.6.23") && !broken("mio", "0.5.1"));
    }

    #[test]
    fn the_reactor_follows_the_version_of_tokio_core() {
        let of = |name, version| {
            let all = [package(name, version)];
            reactor(all.iter().find(|p| *p.name == "tokio-core"), &all)
        };
        assert!(of("tokio-core", "0.1.12").contains("thread of the Core"));
        assert!(of("tokio-core", "0.1.13").contains("thread of its own"));
        assert_eq!(of("tokio-reactor", "0.1.12"), "tokio 0.1's");
        assert!(of("tokio", "1.0.0").starts_with("none"));
    }
}
