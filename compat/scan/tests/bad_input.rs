//! What can't be scanned ends with one line and the exit code 2.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{command, git, package, scan, stderr};

/// The last line of stderr of a scan that fails.
fn failure(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let stderr = stderr(&output);
    let errors: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("cargo legacy-scan: "))
        .collect();
    assert_eq!(errors.len(), 1, "{stderr}");
    assert_eq!(stderr.lines().last(), errors.first().copied(), "{stderr}");
    errors[0].to_owned()
}

#[test]
fn there_is_no_manifest() {
    let folder = package("without-a-manifest", "", "");
    fs::remove_file(folder.join("Cargo.toml")).unwrap();
    let error = failure(&folder, &[]);
    let file = folder.canonicalize().unwrap().join("Cargo.toml");
    assert_eq!(
        error,
        format!(
            "cargo legacy-scan: cannot scan: no file {}; set another with --manifest-path",
            file.display()
        )
    );
}

#[test]
fn there_is_no_futures_0_1() {
    let error = failure(&package("without-futures", "", ""), &[]);
    assert!(error.ends_with("does not depend on futures 0.1"), "{error}");
}

#[test]
fn the_manifest_is_broken() {
    let folder = package("broken", "futures = [", "");
    let error = failure(&folder, &[]);
    assert!(error.contains("cargo cannot read the project"), "{error}");
}

#[test]
fn the_toolchain_is_missing() {
    let folder = package("without-toolchain", "futures = \"0.1.31\"", "");
    let error = failure(&folder, &["--toolchain", "1.0.0"]);
    assert!(
        error.contains("the toolchain '1.0.0' does not work"),
        "{error}"
    );
}

#[test]
fn the_toolchain_is_too_old() {
    let folder = package("with-old-toolchain", "futures = \"0.1.31\"", "");
    let cargo = folder.join("cargo");
    fs::write(&cargo, "#!/bin/sh\necho cargo 1.38.0\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let output = command(&folder, &[]).env("CARGO", &cargo).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = stderr(&output);
    assert!(stderr.contains("cannot scan with cargo 1.38"), "{stderr}");
}

#[test]
fn an_option_of_a_scan_needs_a_scan() {
    let folder = package("without-a-scan", "futures = \"0.1.31\"", "");
    for options in [
        ["--fix", "--check"],
        ["--harden", "--json=-"],
        ["--fix", "--save"],
    ] {
        let output = command(&folder, &options).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(
            stderr(&output).contains("cannot be used with"),
            "{options:?}"
        );
    }
}

#[test]
fn the_vendor_folder_is_missing() {
    let folder = package("without-vendor", "futures = \"0.1.31\"", "");
    let error = failure(&folder, &["--vendor", "missing"]);
    assert_eq!(
        error,
        "cargo legacy-scan: cannot scan: --vendor missing isn't a folder; make one with cargo vendor"
    );
}

#[test]
fn the_saved_counts_are_missing() {
    let folder = package("without-counts", "futures = \"0.1.31\"", "");
    let error = failure(&folder, &["--check"]);
    assert!(
        error.starts_with("cargo legacy-scan: cannot read legacy-scan.json"),
        "{error}"
    );
}

#[test]
fn the_cache_is_empty_and_the_network_is_off() {
    let folder = package("without-cache", "futures = \"0.1.31\"", "");
    let home = folder.join("home");
    fs::create_dir(&home).unwrap();
    let output = command(&folder, &["--offline"])
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = stderr(&output);
    assert!(
        stderr
            .lines()
            .last()
            .unwrap()
            .starts_with("cargo legacy-scan: cargo cannot read the project: "),
        "{stderr}"
    );
}

#[test]
fn what_is_written_needs_a_clean_repository() {
    let folder = package("dirty", "futures = \"0.1.31\"", "");
    let write = ["--harden", "--write"];
    // Tests run below the build folder, which lies in a repository of its own.
    fs::write(folder.join(".git"), "gitdir: nowhere").unwrap();
    let error = failure(&folder, &write);
    assert!(error.contains("isn't in a git repository"), "{error}");

    fs::remove_file(folder.join(".git")).unwrap();
    git(&folder, &["init", "-q"]);
    let error = failure(&folder, &write);
    assert!(
        error.contains("has changes that are not committed"),
        "{error}"
    );
    let error = failure(&folder, &["--fix", "--write"]);
    assert!(
        error.contains("has changes that are not committed"),
        "{error}"
    );
    let error = failure(&folder, &["--write"]);
    assert!(
        error.contains("--write requires --fix or --harden"),
        "{error}"
    );
}

#[test]
fn what_does_not_build_is_not_fixed() {
    let source =
        "use futures::Future;\nfn f(_: Box<Future<Item = (), Error = ()>>) -> Missing {}\n";
    let folder = package("unfixable", "futures = \"0.1.31\"", source);
    let error = failure(&folder, &["--fix"]);
    assert!(
        error.contains("the project does not build, so nothing is changed: "),
        "{error}"
    );

    let source = "async fn f() {\n    let _ = futures::future::ok::<u8, u8>(1).await;\n}\n";
    let folder = package("without-adapter", "futures = \"0.1.31\"", source);
    let error = failure(&folder, &["--fix"]);
    assert!(
        error.ends_with("src/lib.rs awaits a 0.1 future, and without-adapter does not depend on tokio-core-compat"),
        "{error}"
    );
}

#[test]
fn a_futures_that_is_not_hardened() {
    let error = failure(
        &package("early", "futures = \"=0.1.13\"", ""),
        &["--harden"],
    );
    assert!(
        error.contains("futures 0.1.13 makes no task handle of an Arc"),
        "{error}"
    );

    let folder = package(
        "own-copy",
        "futures = \"0.1.31\"\n[patch.crates-io]\nfutures = { path = \"futures\" }",
        "",
    );
    let source = folder.join("futures/src/task_impl/std");
    fs::create_dir_all(&source).unwrap();
    let manifest = "[package]\nname = \"futures\"\nversion = \"0.1.31\"\n";
    fs::write(folder.join("futures/Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("futures/src/lib.rs"), "").unwrap();
    fs::write(source.join("mod.rs"), "struct ArcWrapped<T>(T);").unwrap();
    let report = scan(&folder, &[]);
    let verdict = report["soundness"]["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("unknown: "), "{verdict}");
    let error = failure(&folder, &["--harden"]);
    assert!(
        error.contains("has another ArcWrapped than futures 0.1.14"),
        "{error}"
    );
    fs::write(
        source.join("mod.rs"),
        "struct ArcWrapped<T>(PhantomData<T>);",
    )
    .unwrap();
    let error = failure(&folder, &["--harden"]);
    assert!(
        error.contains("only a crate of a registry is copied"),
        "{error}"
    );
}

#[test]
fn a_futures_by_its_path_can_not_be_marked() {
    let folder = package("by-path", "futures = { path = \"futures\" }", "");
    fs::create_dir_all(folder.join("futures/src")).unwrap();
    let manifest = "[package]\nname = \"futures\"\nversion = \"0.1.31\"\n";
    fs::write(folder.join("futures/Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("futures/src/lib.rs"), "").unwrap();
    let error = failure(&folder, &[]);
    assert!(
        error.contains("futures is a dependency by its path futures"),
        "{error}"
    );
}

#[test]
fn what_is_hardened_has_a_place_of_its_own() {
    let folder = package("linked-patches", "futures = \"0.1.31\"", "");
    let shared = folder.with_file_name("shared-patches");
    let _ = fs::remove_dir_all(&shared);
    fs::create_dir_all(shared.join("futures-0.1.31")).unwrap();
    let patched = folder.join("patched");
    std::os::unix::fs::symlink(&shared, &patched).unwrap();
    let error = failure(&folder, &["--harden"]);
    assert!(error.contains("patched isn't a folder"), "{error}");

    fs::remove_file(&patched).unwrap();
    fs::create_dir(&patched).unwrap();
    let copy = patched.join("futures-0.1.31");
    std::os::unix::fs::symlink(shared.join("futures-0.1.31"), copy).unwrap();
    let error = failure(&folder, &["--harden"]);
    assert!(
        error.ends_with("patched/futures-0.1.31 already exists"),
        "{error}"
    );
}

#[test]
fn a_build_script_misses_something() {
    let folder = package("build-script", "futures = \"0.1.31\"", "");
    let script = "fn main() {\n    panic!(\"libmissing is not installed\");\n}\n";
    fs::write(folder.join("build.rs"), script).unwrap();
    let error = failure(&folder, &[]);
    assert!(
        error.contains("build command for `build-script")
            && error.contains("libmissing is not installed"),
        "{error}"
    );
}

#[test]
fn a_dependency_is_missing() {
    let folder = package(
        "without-dependency",
        "futures = \"0.1.31\"\nnowhere = { path = \"../nowhere-at-all\" }",
        "",
    );
    let error = failure(&folder, &[]);
    assert!(
        error.contains("cargo cannot read the project") && error.contains("nowhere"),
        "{error}"
    );
}

#[test]
fn the_saved_counts_are_something_else() {
    let folder = package("with-other-counts", "futures = \"0.1.31\"", "");
    fs::write(folder.join("legacy-scan.json"), "[1]").unwrap();
    let error = failure(&folder, &["--check"]);
    assert_eq!(error, "cargo legacy-scan: legacy-scan.json is not a file of --save: invalid type: integer `1`, expected a sequence at line 1 column 2");
}

#[test]
fn the_report_has_nowhere_to_go() {
    let folder = package("without-target", "futures = \"0.1.31\"", "");
    let error = failure(&folder, &["--json", "missing/report.json"]);
    assert!(
        error.contains("cannot write missing/report.json"),
        "{error}"
    );
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let folder = package("closed-pipe", "", "");
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(reader);
    let output = command(&folder, &["--explain", "68"])
        .stdout(std::os::fd::OwnedFd::from(writer))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}
