//! Scans crates of the registry, and compares with what was recorded and judged by hand in
//! tests/real.toml. Not in CI: it downloads them, and builds their dependencies. Run it by
//! `make scan-real`; where findings have changed, it prints the new record.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::support::{command, package, stderr};

const RECORD: &str = include_str!("real.toml");
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// How many findings beside those that hang are judged by hand.
const SAMPLE: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    scan: Vec<Scan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scan {
    /// A crate with its version, or the tree of a step of the ladder.
    of: String,
    /// Of the crate, as a lock file has it.
    checksum: Option<String>,
    /// Findings by severity, and by row in each.
    counts: BTreeMap<String, String>,
    /// Everything that hangs, and a sample of the others, each with a verdict.
    #[serde(default)]
    judged: Vec<String>,
}

impl Scan {
    /// The manifest to scan, in a copy if it is a crate's.
    fn manifest(&self) -> PathBuf {
        match self.of.split_once(' ') {
            Some((name, version)) => downloaded(name, version, self.checksum.as_deref()),
            None => step_of_the_ladder(&self.of),
        }
        .join("Cargo.toml")
    }

    /// What is recorded, in the form of [`form`].
    fn recorded(&self) -> String {
        let mut text = String::new();
        for (severity, rows) in &self.counts {
            let _ = writeln!(text, "counts.{severity} = \"{rows}\"");
        }
        for line in &self.judged {
            let (finding, _) = line.rsplit_once(" = ").expect("a verdict");
            let _ = writeln!(text, "{finding}");
        }
        text
    }
}

/// The tree of a step, as it is now.
fn step_of_the_ladder(folder: &str) -> PathBuf {
    let root = Path::new(REPOSITORY);
    let step = folder.strip_prefix("target/ladder/").unwrap();
    let mut ladder = Command::new(root.join("compat/ladder/ladder"));
    let output = ladder.args(["tree", step]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    root.join(folder)
}

/// A copy of a crate of the registry without what is only for its tests, since versions that they
/// need may be gone.
fn downloaded(name: &str, version: &str, checksum: Option<&str>) -> PathBuf {
    let dependency = format!("{name} = {{ version = \"={version}\", default-features = false }}");
    let folder = package(&format!("fetch-{name}"), &dependency, "");
    let cargo = Command::new("cargo")
        .args(["metadata", "--format-version", "1"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", stderr(&cargo));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().find(|package| package["name"] == name);
    let manifest = Path::new(found.unwrap()["manifest_path"].as_str().unwrap());

    let lock: DocumentMut = read(&folder.join("Cargo.lock")).parse().unwrap();
    let locked = lock["package"].as_array_of_tables().unwrap();
    let locked = locked
        .iter()
        .find(|package| package["name"].as_str() == Some(name));
    assert_eq!(locked.unwrap()["checksum"].as_str(), checksum, "{name}");

    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{version}"));
    let _ = fs::remove_dir_all(&copy);
    copy_tree(manifest.parent().unwrap(), &copy);
    let mut manifest: DocumentMut = read(&copy.join("Cargo.toml")).parse().unwrap();
    for tests in ["dev-dependencies", "test", "example", "bench"] {
        manifest.remove(tests);
    }
    if let Some(targets) = manifest
        .get_mut("target")
        .and_then(|item| item.as_table_like_mut())
    {
        for (_, target) in targets.iter_mut() {
            target
                .as_table_like_mut()
                .unwrap()
                .remove("dev-dependencies");
        }
    }
    manifest.entry("workspace").or_insert(toml_edit::table());
    fs::write(copy.join("Cargo.toml"), manifest.to_string()).unwrap();
    copy
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let is_left_out = ["tests", "examples", "benches", "Cargo.lock"];
        if is_left_out.iter().any(|left_out| name == *left_out) {
            continue;
        } else if path.is_dir() {
            copy_tree(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn scanned(manifest: &Path) -> (Value, Duration) {
    let started = Instant::now();
    let output = command(manifest.parent().unwrap(), &["--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // Progress is shown while dependencies compile.
    if output.stderr.len() > 1000 {
        assert!(stderr(&output).contains("checking: 25 of about"));
    }
    (
        serde_json::from_slice(&output.stdout).unwrap(),
        started.elapsed(),
    )
}

/// The findings in the record's form: the counts, all that hang, and the sample, which follows from
/// a hash of each finding.
fn form(report: &Value) -> String {
    let mut counts = BTreeMap::<&str, BTreeMap<u64, usize>>::new();
    let (mut hanging, mut others) = (Vec::new(), Vec::new());
    for finding in report["findings"].as_array().unwrap() {
        let severity = finding["severity"].as_str().unwrap();
        let row = finding["row"].as_u64().unwrap();
        *counts.entry(severity).or_default().entry(row).or_default() += 1;
        let text = |key: &str| finding[key].as_str().unwrap();
        let line = format!(
            "{}:{}:{} {row} {severity} {}",
            text("file"),
            finding["line"],
            finding["column"],
            text("item")
        );
        match severity {
            "hangs" => hanging.push(line),
            _ => others.push((hash(&line), line)),
        }
    }
    others.sort();
    let mut sample: Vec<_> = others
        .into_iter()
        .take(SAMPLE)
        .map(|(_, line)| line)
        .collect();
    sample.sort();
    let mut text = String::new();
    for (severity, rows) in counts {
        let rows: Vec<_> = rows
            .iter()
            .map(|(row, count)| format!("{row}x{count}"))
            .collect();
        let _ = writeln!(text, "counts.{severity} = \"{}\"", rows.join(" "));
    }
    for line in hanging.into_iter().chain(sample) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn record() -> Record {
    toml_edit::de::from_str(RECORD).unwrap()
}

#[test]
#[ignore = "downloads crates, and builds their dependencies: make scan-real"]
fn real_crates_have_the_findings_that_were_judged() {
    let mut drift = String::new();
    for scan in record().scan {
        let manifest = scan.manifest();
        let (_, first) = scanned(&manifest);
        let main = [
            manifest.with_file_name("src/lib.rs"),
            manifest.with_file_name("src/main.rs"),
        ];
        let main = main.iter().find(|file| file.exists()).unwrap();
        let file = fs::OpenOptions::new().append(true).open(main).unwrap();
        file.set_modified(SystemTime::now()).unwrap();
        let (report, next) = scanned(&manifest);
        println!(
            "{}: {:.1} s, then {:.1} s",
            scan.of,
            first.as_secs_f32(),
            next.as_secs_f32()
        );
        assert!(next < Duration::from_secs(60), "{}", scan.of);
        let found = form(&report);
        let recorded = scan.recorded();
        let is_same = if scan.judged.is_empty() {
            found.starts_with(&recorded)
        } else {
            found == recorded
        };
        if !is_same {
            let _ = writeln!(drift, "\n{}\n{found}", scan.of);
        }
    }
    assert!(
        drift.is_empty(),
        "these differ from tests/real.toml:{drift}"
    );
}

/// The readme has a transcript of hyper and of r0.
#[test]
fn the_readme_has_the_figures_of_the_record() {
    let readme = include_str!("../README.md");
    for scan in record().scan {
        if ["hyper 0.11.27", "target/ladder/r0"].contains(&scan.of.as_str()) {
            let hanging = format!("\nhangs ({})\n", total(&scan.counts["hangs"]));
            assert!(readme.contains(&hanging), "{}: {hanging}", scan.of);
            let all: usize = scan.counts.values().map(|rows| total(rows)).sum();
            assert!(
                readme.contains(&format!("({all} findings)")),
                "{}: {all}",
                scan.of
            );
        }
    }
}

/// The sum of `ROWxCOUNT ROWxCOUNT`.
fn total(rows: &str) -> usize {
    rows.split(' ')
        .map(|row| row.split_once('x').unwrap().1.parse::<usize>().unwrap())
        .sum()
}

#[test]
fn what_hangs_was_judged_and_is_right() {
    let mut judged = BTreeMap::<bool, [usize; 2]>::new();
    for scan in record().scan {
        assert!(
            scan.of.contains(' ') == scan.checksum.is_some(),
            "{}",
            scan.of
        );
        let all = scan.counts.get("hangs").map_or(0, |rows| total(rows));
        let mut hanging = 0;
        for line in &scan.judged {
            let (finding, verdict) = line.rsplit_once(" = ").unwrap();
            let hangs = finding.contains(" hangs ");
            hanging += usize::from(hangs);
            let right = verdict.starts_with("right");
            assert!(right || verdict.starts_with("wrong: "), "{line}");
            assert!(right || !hangs, "{}: {line}", scan.of);
            judged.entry(hangs).or_default()[usize::from(right)] += 1;
        }
        assert!(
            hanging == all || scan.judged.is_empty(),
            "{}: {hanging} of {all}",
            scan.of
        );
    }
    for (hangs, [wrong, right]) in judged {
        let what = if hangs { "hang" } else { "do not hang" };
        println!(
            "real crates: of the judged findings that {what}, {right} are right and {wrong} wrong"
        );
    }
}
