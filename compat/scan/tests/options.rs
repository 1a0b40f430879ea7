//! What the options and the kinds of projects change of what is found.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{command, package, scan, stderr};

const FUTURES: &str = "futures = \"0.1.31\"";

/// `file row` of each finding.
fn found(report: &serde_json::Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| format!("{} {}", finding["file"].as_str().unwrap(), finding["row"]))
        .collect()
}

/// A function of edition 2018 that uses a row.
fn function(name: &str, used: &str) -> String {
    format!("pub fn {name}() {{\n    let _ = futures::{used};\n}}\n")
}

#[test]
fn an_option_adds_features_tests_and_examples() {
    let source = function("always", "future::empty::<u8, u8>()")
        + "#[cfg(feature = \"more\")]\n"
        + &function("more", "future::lazy(|| Ok::<u8, u8>(1))");
    let folder = package("options", FUTURES, &source);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        manifest + "\n[features]\nmore = []",
    )
    .unwrap();
    for (kind, used) in [
        ("tests", "sync::oneshot::channel::<u8>()"),
        ("examples", "sync::mpsc::unbounded::<u8>()"),
    ] {
        fs::create_dir(folder.join(kind)).unwrap();
        fs::write(folder.join(kind).join("one.rs"), function("main", used)).unwrap();
    }
    let default = ["src/lib.rs 19"];
    assert_eq!(found(&scan(&folder, &[])), default);
    assert_eq!(
        found(&scan(&folder, &["--all-features"])),
        ["src/lib.rs 19", "src/lib.rs 12"]
    );
    assert_eq!(
        found(&scan(&folder, &["--tests"])),
        ["src/lib.rs 19", "tests/one.rs 35"]
    );
    assert_eq!(
        found(&scan(&folder, &["--examples"])),
        ["examples/one.rs 33", "src/lib.rs 19"]
    );

    let output = through_rustup(&folder);
    assert_eq!(found(&serde_json::from_slice(&output).unwrap()), default);
}

/// The report of a scan with `--toolchain old`, through a rustup that has this toolchain alone.
fn through_rustup(folder: &Path) -> Vec<u8> {
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let script = "#!/bin/sh\n[ \"$1 $2 $3\" = 'run old cargo' ] || { echo \"error: toolchain '$2' is not installed\" >&2; exit 1; }\nshift 3\necho \"$1\" >> \"$0.log\"\nexec \"$REAL_CARGO\" \"$@\"\n";
    fs::write(bin.join("rustup"), script).unwrap();
    fs::set_permissions(bin.join("rustup"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |toolchain| {
        command(folder, &["--toolchain", toolchain, "--json", "-"])
            .env("PATH", &path)
            .env("REAL_CARGO", env!("CARGO"))
            .output()
            .unwrap()
    };
    let output = run("old");
    assert!(output.status.success(), "{}", stderr(&output));
    let log = fs::read_to_string(bin.join("rustup.log")).unwrap();
    assert!(
        ["-V", "metadata", "check"]
            .iter()
            .all(|call| log.lines().any(|line| line == *call)),
        "{log}"
    );

    let output = run("older");
    assert_eq!(output.status.code(), Some(2));
    let error = "cargo legacy-scan: the toolchain 'older' does not work: toolchain 'older' is not installed";
    assert_eq!(stderr(&output).trim_end(), error);
    run("old").stdout
}

#[test]
fn a_vendor_folder_takes_the_place_of_the_registry() {
    let folder = package(
        "vendored",
        FUTURES,
        &function("f", "future::empty::<u8, u8>()"),
    );
    let vendored = Command::new(env!("CARGO"))
        .args(["vendor", "--quiet", "crates"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(vendored.status.success(), "{}", stderr(&vendored));
    let home = folder.join("home");
    fs::create_dir(&home).unwrap();
    // There is no registry in this home, and no network to fill it.
    let output = command(&folder, &["--vendor", "crates", "--offline", "--json", "-"])
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        found(&serde_json::from_slice(&output.stdout).unwrap()),
        ["src/lib.rs 19"]
    );
    // A scan without the option takes nothing from the folder.
    let output = command(&folder, &["--offline"])
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_workspace_is_scanned_with_packages_of_edition_2015_and_those_beside_it() {
    let old = "\
extern crate futures;
use std::sync::Arc;
use futures::{Async, Future, Poll};
pub trait Named {
    fn dyn(&self, u8) -> u8;
}
pub struct Maker(pub Arc<Fn(u8) -> Box<Future<Item = u8, Error = ()> + Send> + Send>);
pub struct Done;
impl Future for Done {
    type Item = ();
    type Error = ();
    fn poll(&mut self) -> Poll<(), ()> {
        let async = Async::Ready(());
        try!(Ok(()));
        Ok(async)
    }
}
";
    let beside = package(
        "beside",
        FUTURES,
        &function("f", "future::empty::<u8, u8>()"),
    );
    let folder = package("workspace", "", old);
    let root = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let root = root
        .replace("2018", "2015")
        .replace("[workspace]", "[workspace]\nmembers = [\"member\"]");
    fs::write(
        folder.join("Cargo.toml"),
        root + FUTURES + "\nbeside = { path = \"../beside\" }",
    )
    .unwrap();
    fs::create_dir_all(folder.join("member/src")).unwrap();
    fs::write(
        folder.join("member/Cargo.toml"),
        format!("[package]\nname = \"member\"\nversion = \"0.0.0\"\n[dependencies]\n{FUTURES}"),
    )
    .unwrap();
    let member = "extern crate futures;\nfn f() { futures::future::lazy(|| Ok::<u8, u8>(1)); }";
    fs::write(folder.join("member/src/lib.rs"), member).unwrap();

    let report = scan(&folder, &[]);
    assert_eq!(report["failed"].as_array().unwrap().len(), 0);
    let beside = beside.canonicalize().unwrap().join("src/lib.rs");
    assert_eq!(
        found(&report),
        [
            &format!("{} 19", beside.display()),
            "member/src/lib.rs 12",
            "src/lib.rs 42",
            "src/lib.rs 44",
            "src/lib.rs 39",
        ]
    );
}
