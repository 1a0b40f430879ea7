//! `--fix` on real code: what built and passed before does so after. Takes minutes: `make fix-real`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{command, git, package, stderr};

/// Runs a program in a folder, without this test's own settings for cargo.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments);
    command
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_MANIFEST_DIR");
    // These crates deny warnings, and today's compiler has more of them.
    command.env("RUSTFLAGS", "--cap-lints=warn");
    command.output().unwrap()
}

fn succeed(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = run(folder, program, arguments);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        stderr(&output)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes what `--fix` finds, commits it, and sees that it finds nothing more. Returns what it said.
fn fix(repository: &Path, arguments: &[&str]) -> String {
    let write = |what: &str| {
        let output = command(repository, &[&["--fix", "--write"], arguments].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{what}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = write("the first time");
    git(repository, &["add", "."]);
    git(repository, &["commit", "-qm", "fix"]);
    let again = write("the second time");
    assert!(again.contains("0 files written"), "{again}");
    said
}

/// The lines of what `--fix` printed that are no diff, and how much the diff adds and removes.
fn summary(said: &str) -> String {
    let count = |sign: char| {
        let own =
            |line: &&str| line.starts_with(sign) && !line.starts_with(&sign.to_string().repeat(3));
        said.lines().filter(own).count()
    };
    let other = |line: &&str| !line.starts_with(['+', '-', ' ', '@', '\\']);
    let other: Vec<_> = said.lines().filter(other).collect();
    format!("+{} -{}\n{}", count('+'), count('-'), other.join("\n"))
}

/// A crate of the registry as a committed repository.
fn repository_of(name: &str, version: &str) -> PathBuf {
    let user = package(
        &format!("user-of-{name}"),
        &format!("{name} = \"={version}\""),
        "",
    );
    let metadata = succeed(&user, env!("CARGO"), &["metadata", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages
        .iter()
        .find(|package| package["name"] == name)
        .unwrap();
    let source = Path::new(found["manifest_path"].as_str().unwrap())
        .parent()
        .unwrap();
    let folder = user.with_file_name(format!("real-{name}"));
    let _ = fs::remove_dir_all(&folder);
    succeed(source, "cp", &["-r", ".", folder.to_str().unwrap()]);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    // No version of spmc that hyper allows is there any more; what used it isn't in the package.
    let manifest = manifest.replace("[dev-dependencies.spmc]\nversion = \"0.2\"\n", "");
    fs::write(folder.join("Cargo.toml"), manifest + "\n[workspace]\n").unwrap();
    fs::write(folder.join(".gitignore"), "target\nCargo.lock\n").unwrap();
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "all"]);
    folder
}

/// The names of the tests that pass.
fn passed(folder: &Path) -> BTreeSet<String> {
    let output = run(folder, env!("CARGO"), &["test", "--no-fail-fast"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = text
        .lines()
        .filter(|line| line.starts_with("test ") && line.ends_with("... ok"));
    // A documentation test has its line in its name.
    let name = |line: &str| line.split("(line").next().unwrap_or(line).to_owned();
    passed.map(name).collect()
}

fn keeps_what_passes(name: &str, version: &str) {
    let folder = repository_of(name, version);
    let before = passed(&folder);
    assert!(!before.is_empty(), "the tests don't build");
    let said = fix(&folder, &[]);
    let after = passed(&folder);
    println!(
        "{name} {version}: {} tests pass before, {} after\n{}",
        before.len(),
        after.len(),
        summary(&said)
    );
    assert_eq!(
        before.difference(&after).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
#[ignore = "builds tokio-proto five times"]
fn tokio_proto_passes_what_it_passed() {
    keeps_what_passes("tokio-proto", "0.1.1");
}

#[test]
#[ignore = "builds hyper five times"]
fn hyper_passes_what_it_passed() {
    keeps_what_passes("hyper", "0.11.27");
}

/// The peers of `benches/legacy` use tokio-io's `try_nb!`, which names `::futures`: they can't change, and
/// they don't.
#[test]
#[ignore = "checks a package twice"]
fn a_package_of_this_repository_stays_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-ptunnel");
    let _ = fs::remove_dir_all(&folder);
    let clone = ["clone", "-q", ".", folder.to_str().unwrap()];
    succeed(&root, "git", &clone);
    let manifest = "benches/legacy/Cargo.toml";
    let arguments = ["--fix", "--write", "--manifest-path", manifest];
    let output = command(&folder, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{manifest}: {said}");
    let why = "try_nb! names ::futures";
    assert!(said.contains(why), "{said} {}", stderr(&output));
    assert!(
        said.ends_with("0 files written; the project builds as before\n"),
        "{said}"
    );
    assert_eq!(succeed(&folder, "git", &["status", "--porcelain"]), "");
}
