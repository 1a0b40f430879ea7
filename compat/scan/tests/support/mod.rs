//! Runs the program that these tests are of.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of all scans of the tests; a second run of them finds its builds there. Named by a
/// path with `..`, as a user may.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tmp/scratch")
}

/// The program with these arguments, started in a folder.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-legacy-scan"));
    command
        .current_dir(folder)
        .arg("legacy-scan")
        .args(arguments)
        .arg("--scratch")
        .arg(scratch());
    command
}

/// Scans the project in a folder, and returns the report.
pub fn scan(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = command(folder, arguments)
        .args(["--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Scans the project in a folder, and returns the report for a terminal.
pub fn terminal(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The files below a folder, their content and when they were written.
pub fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path.clone(), (fs::read(&path).unwrap(), modified));
        }
    }
    files
}

/// A package of its own in a new folder.
pub fn package(name: &str, dependencies: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2018\"\n[workspace]\n[dependencies]\n{dependencies}");
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), source).unwrap();
    folder
}

/// Runs git in a folder.
pub fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for (name, value) in [("AUTHOR", "test"), ("COMMITTER", "test")] {
        command.env(format!("GIT_{name}_NAME"), value);
        command.env(format!("GIT_{name}_EMAIL"), value);
    }
    assert!(command.status().unwrap().success());
}
