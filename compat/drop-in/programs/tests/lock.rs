//! What the drop-in takes out of a lock file: reactors, and advisories.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use semver::{Version, VersionReq};

const README: &str = "tokio-core/README.md";
/// Around the table in README.
const MARKS: [&str; 2] = ["<!-- advisories -->\n", "<!-- end of advisories -->\n"];

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", name].iter().collect()
}

fn read(name: &str) -> String {
    let path = path(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A package of a lock file.
struct Package {
    name: String,
    version: Version,
    /// Each a name, and a version where the name alone isn't clear.
    dependencies: Vec<String>,
}

/// Reads the packages of the lock file of `programs/NAME`.
fn lock(name: &str) -> Vec<Package> {
    let text = read(&format!("programs/{name}/Cargo.lock"));
    let packages = text.split("[[package]]\n").skip(1);
    packages
        .map(|package| {
            let value = |key: &str| {
                let mut lines = package.lines();
                let value = lines.find_map(|line| line.strip_prefix(&format!("{key} = ")));
                value.unwrap().trim_matches('"').to_owned()
            };
            let dependencies = package.lines().filter_map(|line| line.strip_prefix(" \""));
            Package {
                name: value("name"),
                version: value("version").parse().unwrap(),
                dependencies: dependencies
                    .map(|dependency| dependency.trim_end_matches("\",").to_owned())
                    .collect(),
            }
        })
        .collect()
}

/// Returns "NAME for DEPENDANT" for each package of tokio 0.1's reactors, and what is below them.
fn reactors(lock: &[Package]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for package in lock {
        let Package { name, version, .. } = package;
        let is_old = version.major == 0;
        let is_reactor = match name.as_str() {
            "mio" | "tokio" => is_old && version.minor < 8,
            "mio-uds" | "miow" | "net2" => true,
            "tokio-codec" | "tokio-current-thread" | "tokio-executor" | "tokio-fs" => true,
            "tokio-reactor" | "tokio-sync" | "tokio-tcp" | "tokio-threadpool" => true,
            "tokio-timer" | "tokio-udp" | "tokio-uds" => true,
            _ => false,
        };
        let exact = format!("{name} {version}");
        let names_it = |other: &&Package| {
            let mut dependencies = other.dependencies.iter();
            dependencies.any(|dependency| dependency == name || *dependency == exact)
        };
        if is_reactor {
            let dependants = lock.iter().filter(names_it);
            found.extend(dependants.map(|other| format!("{name} for {}", other.name)));
        }
    }
    found.into_iter().collect()
}

#[test]
fn the_drop_in_leaves_only_those_reactors_that_libraries_name() {
    let left = reactors(&lock("drop-in"));
    let named = [
        "net2 for hyper",
        "net2 for tokio-proto",
        "tokio-timer for socksv5_future",
        "tokio-timer for tokio-socks5",
    ];
    assert_eq!(left, named);
    let before = reactors(&lock("real"));
    for reactor in ["mio for tokio-core", "tokio for tokio-core"] {
        assert!(before.iter().any(|found| found == reactor), "{before:?}");
    }
}

/// A line of `advisories.txt`.
struct Advisory {
    id: String,
    name: String,
    kind: String,
    /// Versions without it.
    fixed: Vec<VersionReq>,
    title: String,
}

fn advisories() -> Vec<Advisory> {
    let text = read("advisories.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<_> = line.split(" | ").map(str::to_owned).collect();
            let [id, name, _date, kind, fixed, title] = fields
                .try_into()
                .unwrap_or_else(|_| panic!("not six fields: {line}"));
            let fixed = fixed.split("; ").filter(|versions| *versions != "none");
            Advisory {
                fixed: fixed.map(|versions| versions.parse().unwrap()).collect(),
                id,
                name,
                kind,
                title,
            }
        })
        .collect()
}

impl Advisory {
    /// Returns the versions in `lock` that have it, or a dash.
    fn versions(&self, lock: &[Package]) -> String {
        let hit: Vec<_> = lock
            .iter()
            .filter(|package| package.name == self.name)
            .filter(|package| {
                !self
                    .fixed
                    .iter()
                    .any(|fixed| fixed.matches(&package.version))
            })
            .map(|package| package.version.to_string())
            .collect();
        if hit.is_empty() {
            "–".to_owned()
        } else {
            hit.join(", ")
        }
    }
}

fn table() -> String {
    let (real, drop_in) = (lock("real"), lock("drop-in"));
    let (mut rows, mut before, mut after) = (String::new(), 0, 0);
    for advisory in advisories() {
        let [was, is] = [&real, &drop_in].map(|lock| advisory.versions(lock));
        before += usize::from(was != "–");
        after += usize::from(is != "–");
        if (&*was, &*is) != ("–", "–") {
            let Advisory {
                id,
                name,
                kind,
                title,
                ..
            } = advisory;
            rows += &format!("| {id} | {name} | {kind} | {was} | {is} | {title} |\n");
        }
    }
    format!(
        "| advisory | crate | kind | tokio-core 0.1.18: {before} | the drop-in: {after} | title |\n\
         |---|---|---|---|---|---|\n{rows}"
    )
}

/// With `UPDATE=1`, writes the table instead.
#[test]
fn readme_lists_the_advisories_before_and_after() {
    let readme = read(README);
    let [begin, end] = MARKS.map(|mark| readme.find(mark).unwrap());
    let begin = begin + MARKS[0].len();
    let table = table();
    if env::var_os("UPDATE").is_some() {
        let updated = [&readme[..begin], &table, &readme[end..]].concat();
        fs::write(path(README), updated).unwrap();
    } else {
        assert_eq!(
            &readme[begin..end],
            table,
            "UPDATE=1 cargo test --test lock writes it"
        );
    }
}
