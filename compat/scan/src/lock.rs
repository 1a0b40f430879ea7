//! What the lock file holds of that generation, and what holds it there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::Result;
use cargo_metadata::semver::Version;
use cargo_metadata::{Package, PackageId};
use serde::{Deserialize, Serialize};

use crate::outline::Outline;
use crate::project::Project;
use crate::table::Table;
use crate::{files, parse};

/// The packages of futures 0.1's generation in a lock file, and those that use them.
#[derive(Debug, Default, Serialize)]
pub struct Lock {
    /// Which reactor drives the sockets, and on which thread.
    pub reactor: &'static str,
    /// Versions that hand the kernel broken addresses, each with its cure.
    pub broken: Vec<String>,
    /// Each with the package that it is about.
    pub advisories: Vec<String>,
    pub packages: Vec<Old>,
    pub holders: Vec<Holder>,
    /// What puts the drop-ins in place: lines of `[patch.crates-io]`, and commands.
    pub drop_ins: Vec<String>,
}

/// A package of that generation.
#[derive(Debug, Serialize)]
pub struct Old {
    pub package: String,
    /// The packages that depend on it directly.
    pub used_by: Vec<String>,
    /// Whether only parts of that generation's runtime use it, which leave with it.
    pub is_beneath: bool,
    pub successor: Option<Successor>,
}

/// A package of a registry that holds one of that generation, and isn't a part of its runtime.
#[derive(Debug, Serialize)]
pub struct Holder {
    pub package: String,
    /// The packages of that generation that it depends on directly.
    pub holds: Vec<String>,
    pub reach: Reach,
    /// From a package of the project to this one, by the shortest way.
    pub through: Vec<String>,
    pub successor: Option<Successor>,
}

/// How far a package reaches into that generation's runtime.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It makes a Core, and so blocks the thread that it runs on.
    OwnsCore,
    /// It depends on tokio-core, and so may show its types.
    TokioCore,
    Tokio01,
    Futures,
}

impl Reach {
    pub fn description(self) -> &'static str {
        match self {
            Self::OwnsCore => "owns a Core (row 70), and runs unchanged on the drop-in",
            Self::TokioCore => "uses tokio-core, and runs unchanged on the drop-in",
            Self::Tokio01 => "uses tokio 0.1, and runs unchanged on its drop-ins",
            Self::Futures => "uses futures and no runtime: adapt its futures at the call",
        }
    }
}

/// What takes a package's place.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Successor {
    pub name: String,
    /// Its first version on std's futures, and that on tokio 1 where it has a part in it.
    pub since: String,
    /// A page that says so.
    pub source: String,
}

impl Successor {
    /// The name and the versions.
    pub fn summary(&self) -> String {
        format!("{}, from {}", self.name, self.since)
    }
}

impl Holder {
    /// One line: what it holds, through which package, and its successor.
    pub fn summary(&self) -> String {
        let successor = self.successor.as_ref();
        let next = successor.map_or("no known successor".to_owned(), Successor::summary);
        let through = match &self.through[..] {
            [_, users @ .., _] if !users.is_empty() => format!(", through {}", users.join(", ")),
            _ => String::new(),
        };
        format!("{}{through}: {next}", self.package)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    broken: Vec<Broken>,
    advisories: BTreeMap<String, String>,
    runtime: Vec<String>,
    drop_ins: BTreeMap<String, String>,
    successors: BTreeMap<String, Successor>,
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
        let facts = Facts::load();
        let all = &project.metadata.packages;
        let core = all.iter().find(|package| *package.name == "tokio-core");
        let users = users(project);
        let used_by = |package: &Package| users.get(&package.id).into_iter().flatten();
        let successor = |package: &Package| facts.successors.get(package.name.as_str()).cloned();
        let mut holds = BTreeMap::<_, Vec<&Package>>::new();
        // What holds bytes alone has no future in it.
        for old in project
            .legacy_packages(table)
            .filter(|old| *old.name != "bytes")
        {
            for user in used_by(old) {
                holds.entry(&user.id).or_default().push(old);
            }
        }
        let mut holders = Vec::new();
        for (id, holds) in &holds {
            let user = &project.metadata[id];
            if user.source.is_some() && !facts.is_runtime(user) {
                holders.push(Holder {
                    package: shown(user),
                    holds: holds.iter().map(|old| shown(old)).collect(),
                    reach: reach(user, holds)?,
                    through: through(user, &users),
                    successor: successor(user),
                });
            }
        }
        Ok(Self {
            reactor: reactor(core, all),
            broken: all
                .iter()
                .filter_map(|package| {
                    let broken = facts.broken.iter().find(|b| b.is(package))?;
                    Some(format!("{}: {}", shown(package), broken.cure))
                })
                .collect(),
            advisories: all
                .iter()
                .filter_map(|package| {
                    let advisory = facts.advisories.get(package.name.as_str())?;
                    Some(format!("{}: {advisory}", shown(package)))
                })
                .collect(),
            packages: project
                .legacy_packages(table)
                .map(|package| Old {
                    package: shown(package),
                    used_by: used_by(package).map(|user| shown(user)).collect(),
                    is_beneath: used_by(package).all(|user| facts.is_runtime(user)),
                    successor: successor(package),
                })
                .collect(),
            drop_ins: drop_ins(&facts, all, &holds, project),
            holders,
        })
    }
}

impl Facts {
    fn load() -> Self {
        toml_edit::de::from_str(include_str!("../locks.toml")).expect("locks.toml is valid")
    }

    /// Whether a package is a part of that generation's runtime, and leaves with it.
    fn is_runtime(&self, package: &Package) -> bool {
        self.runtime.contains(&package.name)
    }
}

/// What puts the drop-ins in the place of the runtime: that of tokio-core where it is used, those of
/// tokio 0.1 where anything but tokio-core uses that.
fn drop_ins(
    facts: &Facts,
    all: &[Package],
    holds: &BTreeMap<&PackageId, Vec<&Package>>,
    project: &Project,
) -> Vec<String> {
    let from_registry = |name: &str| {
        let mut named = all.iter().filter(|package| *package.name == name);
        named.any(|package| package.source.is_some())
    };
    let uses_tokio = holds.iter().any(|(user, olds)| {
        !facts.is_runtime(&project.metadata[user]) && olds.iter().any(|old| is_tokio(old))
    });
    let mut lines = Vec::new();
    for (name, folder) in &facts.drop_ins {
        if from_registry(name) && (name == "tokio-core" || uses_tokio) {
            lines.push(format!(
                "{name} = {{ path = \"…/compat/drop-in/{folder}\" }}"
            ));
        }
    }
    let is_old_io = |package: &&Package| {
        *package.name == "tokio-io" && package.version < Version::new(0, 1, 13)
    };
    if !lines.is_empty() && all.iter().any(|package| is_old_io(&package)) {
        lines.push("cargo update -p tokio-io --precise 0.1.13".to_owned());
    }
    lines
}

/// Whether a package stands for tokio 0.1 and its reactor.
fn is_tokio(package: &Package) -> bool {
    let name = package.name.as_str();
    name == "tokio"
        || [
            "reactor",
            "tcp",
            "udp",
            "executor",
            "threadpool",
            "current-thread",
        ]
        .iter()
        .any(|part| name.strip_prefix("tokio-") == Some(*part))
        || name == "tokio-timer" && package.version.minor == 2
}

fn reach(package: &Package, holds: &[&Package]) -> Result<Reach> {
    Ok(if holds.iter().any(|old| *old.name == "tokio-core") {
        if owns_core(package)? {
            Reach::OwnsCore
        } else {
            Reach::TokioCore
        }
    } else if holds.iter().any(|old| is_tokio(old)) {
        Reach::Tokio01
    } else {
        Reach::Futures
    })
}

/// The shortest way from a package of the project to this one.
fn through(package: &Package, users: &BTreeMap<&PackageId, Vec<&Package>>) -> Vec<String> {
    let mut ways = VecDeque::from([vec![package]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        if last.source.is_none() {
            return way.iter().rev().map(|package| shown(package)).collect();
        }
        for user in users.get(&last.id).into_iter().flatten() {
            if seen.insert(&user.id) {
                ways.push_back([&way[..], &[*user]].concat());
            }
        }
    }
    vec![shown(package)]
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
        Some(core) if core.source.is_none() => "that of the tokio-core in a local folder",
        Some(core) if own(&core) => "tokio-core's own, on the thread of the Core",
        Some(_) => "tokio 0.1's, on a separate thread, under tokio-core",
        None if all.iter().any(|p| *p.name == "tokio-reactor") => "tokio 0.1's",
        None => "none: no socket and no timer of that generation",
    }
}

/// The direct dependents of each package, by name.
fn users(project: &Project) -> BTreeMap<&PackageId, Vec<&Package>> {
    let mut users = BTreeMap::<_, Vec<&Package>>::new();
    let nodes = project.metadata.resolve.iter();
    for node in nodes.flat_map(|resolve| &resolve.nodes) {
        for dependency in &node.deps {
            let user = &project.metadata[&node.id];
            users.entry(&dependency.pkg).or_default().push(user);
        }
    }
    users
        .values_mut()
        .for_each(|users| users.sort_by_key(|user| (&user.name, &user.version)));
    users
}

fn shown(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Whether a library's source makes a Core outside of its tests and examples.
fn owns_core(package: &Package) -> Result<bool> {
    for file in files::sources(package)? {
        if makes_core(&files::read(&file)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn makes_core(code: &str) -> bool {
    if !code.contains("Core::new(") {
        return false;
    }
    let (code, syntax) = match parse::file(code) {
        Ok((code, syntax)) => (code, Some(syntax)),
        Err(_) => (code.to_owned(), None),
    };
    let outline = Outline::of(&code, syntax.as_ref(), true);
    let calls = |line: &str| line.contains("Core::new(") && !line.trim_start().starts_with("//");
    (1..)
        .zip(code.lines())
        .any(|(number, line)| calls(line) && !outline.is_test(number))
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
        let facts = Facts::load();
        let broken = |name, version| facts.broken.iter().any(|b| b.is(&package(name, version)));
        assert!(broken("net2", "0.2.35") && !broken("net2", "0.2.36"));
        assert!(broken("mio", "0.6.22") && !broken("mio", "0.6.23") && !broken("mio", "0.5.1"));
    }

    #[test]
    fn a_core_of_a_test_is_left_out() {
        let test = "#[cfg(test)]\nmod tests {\n    fn f() { Core::new(); }\n}\n";
        assert!(!makes_core(test));
        assert!(makes_core(&format!("{test}fn f() {{ Core::new(); }}")));
        assert!(makes_core(
            "#[cfg(test)]\nuse a::B;\nfn f() { Core::new(); }"
        ));
        assert!(!makes_core("// Core::new()\nfn f() {}"));
    }

    #[test]
    fn the_reactor_follows_the_version_of_tokio_core() {
        let of = |name, version| {
            let all = [package(name, version)];
            reactor(all.iter().find(|p| *p.name == "tokio-core"), &all)
        };
        assert!(of("tokio-core", "0.1.12").contains("thread of the Core"));
        assert!(of("tokio-core", "0.1.13").contains("separate thread"));
        assert_eq!(of("tokio-reactor", "0.1.12"), "tokio 0.1's");
        assert!(of("tokio", "1.0.0").starts_with("none"));
    }
}
