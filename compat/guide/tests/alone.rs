//! `adapters/` and `drop-in/` build when their folder is copied out of the repository alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A new folder outside of the repository, with one of `compat/` in it where the documents expect
/// it. Removed on drop.
struct Copied(PathBuf);

impl Copied {
    fn new(name: &str) -> Copied {
        // The same in each run, so that the builds of a run are found by the next.
        let own = env!("CARGO_MANIFEST_DIR").replace('/', "-");
        let root = std::env::temp_dir().join(format!("alone{own}-{name}"));
        let _ = fs::remove_dir_all(&root);
        let copied = Copied(root);
        copy(&compat(name), &copied.path("ptunnel/compat").join(name));
        copied
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Checks the package in `folder`, with the versions of a lock file of `compat/`.
    fn check(&self, folder: &str, lock: &str, arguments: &[&str]) {
        fs::copy(compat(lock), self.path(folder).join("Cargo.lock")).unwrap();
        // Downloads what is missing.
        let manifest = compat(lock).with_extension("toml");
        let manifest = ["--manifest-path", manifest.to_str().unwrap()];
        cargo(&self.0, &[&["fetch", "--locked"], &manifest[..]].concat());
        let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/..");
        let check = ["check", "--offline", "--target-dir", target];
        let said = cargo(&self.path(folder), &[&check, arguments].concat());
        assert!(!said.contains("was not used"), "{said}");
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file or folder of `compat/`.
fn compat(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Copies a folder, without what builds leave there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_file() {
            fs::copy(from, to).unwrap();
        } else if !from.ends_with("target") {
            copy(&from, &to);
        }
    }
}

/// Runs cargo in a folder, and returns what it said.
fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.current_dir(folder).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

#[test]
fn the_adapters_and_their_tests_build_alone() {
    let copied = Copied::new("adapters");
    let lock = "real/0.1.12/Cargo.lock";
    copied.check("ptunnel/compat/adapters", lock, &["--all-targets"]);
}

/// A program with the lines that the READMEs print, and the drop-in's own tests.
#[test]
fn the_drop_ins_build_alone() {
    let copied = Copied::new("drop-in");
    let own = "ptunnel/compat/drop-in/tokio-core";
    copied.check(own, "Cargo.lock", &["--all-targets"]);

    let lines = ["tokio-0.1", "tokio-core"].map(|folder| {
        let readme = fs::read_to_string(compat("drop-in").join(folder).join("README.md")).unwrap();
        let block = readme.split("\n[patch.crates-io]\n").nth(1).unwrap();
        block.split("```").next().unwrap().to_owned()
    });
    let manifest = format!(
        "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [dependencies]\ntokio = \"0.1.22\"\ntokio-core = \"0.1.12\"\n\
         [patch.crates-io]\n{}{}",
        lines[0], lines[1]
    );
    let main = "use tokio::prelude::future;\n\
         fn main() {\n    \
             let mut core = tokio_core::reactor::Core::new().unwrap();\n    \
             tokio::run(future::result(core.run(future::ok(()))));\n\
         }\n";
    fs::create_dir_all(copied.path("program/src")).unwrap();
    fs::write(copied.path("program/Cargo.toml"), manifest).unwrap();
    fs::write(copied.path("program/src/main.rs"), main).unwrap();
    copied.check("program", "Cargo.lock", &[]);
}
