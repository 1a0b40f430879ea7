//! What the drop-ins take out of a lock file: reactors, and advisories.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use semver::{Version, VersionReq};

const README: &str = "drop-in/tokio-core/README.md";
/// Around the table in README.
const MARKS: [&str; 2] = ["<!-- advisories -->\n", "<!-- end of advisories -->\n"];

/// The lock file with the drop-ins, and that with the real crates.
const DROP_INS: &str = "Cargo.lock";
const REAL: &str = "real/0.1.18/Cargo.lock";

/// What the tests of programs use of tokio-core and of tokio 0.1, as names and the versions' beginnings.
const ON_TOKIO_CORE: [&str; 6] = [
    "hyper 0.11.",
    "socksv5_future ",
    "tokio-core ",
    "tokio-proto ",
    "tokio-socks5 ",
    "trust-dns-resolver ",
];
const ON_TOKIO_0_1: [&str; 2] = ["hyper 0.12.", "tokio 0.1."];

/// A file of `compat/`.
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
    /// Else it is a drop-in.
    is_registered: bool,
    /// Each a name, and a version where the name alone isn't clear.
    dependencies: Vec<String>,
}

impl Package {
    fn full_name(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn needs(&self, other: &Package) -> bool {
        let mut dependencies = self.dependencies.iter();
        dependencies.any(|name| *name == other.name || *name == other.full_name())
    }

    /// Reads that which a lock file says of one.
    fn parse(text: &str) -> Package {
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            value.map(|value| value.trim_matches('"').to_owned())
        };
        let dependencies = text.lines().filter_map(|line| line.strip_prefix(" \""));
        Package {
            name: value("name").unwrap(),
            version: value("version").unwrap().parse().unwrap(),
            is_registered: value("source").is_some(),
            dependencies: dependencies
                .map(|dependency| dependency.trim_end_matches("\",").to_owned())
                .collect(),
        }
    }
}

/// Reads from a lock file what `programs` need.
fn lock(name: &str, programs: &[&str]) -> Vec<Package> {
    let text = read(name);
    let packages = text.split("[[package]]\n").skip(1).map(Package::parse);
    let (mut needed, mut others): (Vec<_>, Vec<_>) = packages.partition(|package| {
        let name = package.full_name();
        programs.iter().any(|program| name.starts_with(program))
    });
    assert_eq!(needed.len(), programs.len(), "{name} has {programs:?}");
    let mut from = 0;
    while from < needed.len() {
        let (more, rest) = others
            .into_iter()
            .partition(|other| needed[from].needs(other));
        others = rest;
        needed.extend::<Vec<_>>(more);
        from += 1;
    }
    needed.sort_by_key(Package::full_name);
    needed
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
        if is_reactor {
            let dependants = lock.iter().filter(|other| other.needs(package));
            found.extend(dependants.map(|other| format!("{name} for {}", other.name)));
        }
    }
    found.into_iter().collect()
}

#[test]
fn the_drop_in_leaves_only_those_reactors_that_libraries_name() {
    let left = reactors(&lock(DROP_INS, &ON_TOKIO_CORE));
    let named = [
        "net2 for hyper",
        "net2 for tokio-proto",
        "tokio-timer for socksv5_future",
        "tokio-timer for tokio-socks5",
    ];
    assert_eq!(left, named);
    let before = reactors(&lock(REAL, &ON_TOKIO_CORE));
    for reactor in ["mio for tokio-core", "tokio for tokio-core"] {
        assert!(before.iter().any(|found| found == reactor), "{before:?}");
    }
}

/// Whether it is what the drop-ins for tokio 0.1 replace, or below that alone.
fn is_replaced(package: &&Package) -> bool {
    let (major, minor) = (package.version.major, package.version.minor);
    let is_old = match package.name.as_str() {
        "mio" => (major, minor) == (0, 6),
        "winapi" => (major, minor) == (0, 2),
        "tokio-current-thread" | "tokio-executor" | "tokio-reactor" | "tokio-tcp" => true,
        "tokio-threadpool" | "tokio-timer" | "tokio-udp" | "tokio-uds" => true,
        "mio-uds" | "miow" => true,
        "lock_api" | "memoffset" | "parking_lot" => true,
        name => name.starts_with("crossbeam-"),
    };
    is_old && package.is_registered
}

#[test]
fn the_drop_ins_leave_nothing_of_what_they_replace() {
    let lock_of = |name| lock(name, &ON_TOKIO_0_1);
    let drop_ins = lock_of(DROP_INS);
    let left = drop_ins
        .iter()
        .filter(is_replaced)
        .map(|package| &package.name);
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
    let is_drop_in =
        |package: &Package| package.full_name() == "mio 0.6.23" && !package.is_registered;
    assert!(drop_ins.iter().any(is_drop_in));
    assert!(lock_of(REAL).iter().filter(is_replaced).count() > 15);
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
    let text = read("drop-in/advisories.txt");
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
    let [real, drop_in] = [REAL, DROP_INS].map(|name| lock(name, &ON_TOKIO_CORE));
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
            "UPDATE=1 cargo test --test programs lock:: writes it"
        );
    }
}
