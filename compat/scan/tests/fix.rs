//! `--fix` makes the edits that the compiler allows, leaves the rest alone, and finds nothing the
//! second time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{command, git, package, snapshot, stderr};

/// A package in its own repository, everything committed.
fn repository(name: &str, dependencies: &str, source: &str) -> PathBuf {
    let folder = package(name, dependencies, source);
    fs::write(folder.join(".gitignore"), "Cargo.lock\n").unwrap();
    commit(&folder);
    folder
}

fn commit(folder: &Path) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "-q"]);
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "all"]);
}

/// What `--fix` prints with these arguments.
fn fix(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, &[&["--fix"], arguments].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

const OLD: &str = "\
#![allow(deprecated, bare_trait_objects)]
extern crate futures;\r
use futures::{Future, Poll};

// futures::Future and try!(x) of a comment stay.
pub const TEXT: &str = \"try!(futures::a())\";

macro_rules! boxed {
    ($a:expr) => { { let a: Box<Fn() -> u8> = Box::new($a); a() + r#try_it() } };
}
fn try_it() -> u8 { 0 }

pub fn reads(  text: &str )->Result<Box<Fn(u8) -> u8>, std::num::ParseIntError> {
    let n: u8 = r#try!( text.trim( ).parse() );   // kept
    #[cfg(unix)]
    let n = n + r#try!(text.parse::<u8>());
    #[cfg(not(unix))]
    let n = r#try!(text.parse::<u8>());
    let all = vec![r#try!(text.parse::<u8>())];
    Ok(Box::new(move |m| m + n + all[0] + boxed!(|| 1)))
}

pub trait Two {}
pub fn both(a: Box<Two + Send>, b: &Two) -> Box<Future<Item = u8, Error = ()>> {
    let _ = (a, b);
    Box::new(futures::future::ok(1))
}
pub fn polls(f: &mut Future<Item = u8, Error = ()>) -> Poll<u8, ()> { f.poll() }
";

const NEW: &str = "\
#![allow(deprecated, bare_trait_objects)]
use futures01::{Future, Poll};

// futures::Future and try!(x) of a comment stay.
pub const TEXT: &str = \"try!(futures::a())\";

macro_rules! boxed {
    ($a:expr) => { { let a: Box<Fn() -> u8> = Box::new($a); a() + r#try_it() } };
}
fn try_it() -> u8 { 0 }

pub fn reads(  text: &str )->Result<Box<dyn Fn(u8) -> u8>, std::num::ParseIntError> {
    let n: u8 = text.trim( ).parse()?;   // kept
    #[cfg(unix)]
    let n = n + text.parse::<u8>()?;
    #[cfg(not(unix))]
    let n = r#try!(text.parse::<u8>());
    let all = vec![r#try!(text.parse::<u8>())];
    Ok(Box::new(move |m| m + n + all[0] + boxed!(|| 1)))
}

pub trait Two {}
pub fn both(a: Box<dyn Two + Send>, b: &dyn Two) -> Box<dyn Future<Item = u8, Error = ()>> {
    let _ = (a, b);
    Box::new(futures01::future::ok(1))
}
pub fn polls(f: &mut dyn Future<Item = u8, Error = ()>) -> Poll<u8, ()> { f.poll() }
";

#[test]
fn what_means_the_same_is_edited_and_nothing_else() {
    let folder = repository("fix", "futures = \"0.1.31\" # old\n", OLD);
    let before = snapshot(&folder);
    let shown = fix(&folder, &[]);
    assert_eq!(snapshot(&folder), before, "the tree is only read");
    assert!(
        shown.ends_with("2 files to change; --write changes them\n"),
        "{shown}"
    );

    let written = fix(&folder, &["--write"]);
    assert!(written.contains("2 files written"), "{written}");
    assert_eq!(read(&folder, "src/lib.rs"), NEW);
    let manifest = read(&folder, "Cargo.toml");
    let line = "futures01 = { package = \"futures\", version = \"0.1.31\" } # old\n";
    assert!(manifest.contains(line), "{manifest}");

    // The diff that was shown is what was done.
    git(&folder, &["stash", "-q"]);
    fs::write(folder.join("shown.diff"), &shown).unwrap();
    git(&folder, &["apply", "shown.diff"]);
    assert_eq!(read(&folder, "src/lib.rs"), NEW);
    assert_eq!(read(&folder, "Cargo.toml"), manifest);

    fs::remove_file(folder.join("shown.diff")).unwrap();
    commit(&folder);
    let again = fix(&folder, &["--write"]);
    assert_eq!(again, "0 files written; the project builds as before\n");
}

#[test]
fn what_would_not_build_is_undone() {
    // A macro of another package names the crate: no edit here can know.
    let folder = repository(
        "fix-undo",
        "futures = \"0.1.31\"\nnames = { path = \"names\" }\n",
        "\
use futures::Future;
pub fn f(a: Box<Future<Item = u8, Error = ()>>) -> u8 { names::wait!(a) }
",
    );
    // cargo refuses its manifest under the new name.
    let manifest = read(&folder, "Cargo.toml") + "odd = { path = \"odd\" }\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let odd =
        "[package]\nname = \"odd\"\nversion = \"0.0.0\"\n[dependencies]\nfutures = \"0.1.31\"\n\
        [dev-dependencies]\nfutures01 = { path = \"../own\" }\n";
    let own = "[package]\nname = \"futures01\"\nversion = \"0.0.0\"\n";
    for (package, manifest) in [("odd", odd), ("own", own)] {
        fs::create_dir_all(folder.join(package).join("src")).unwrap();
        fs::write(folder.join(package).join("src/lib.rs"), "").unwrap();
        fs::write(folder.join(package).join("Cargo.toml"), manifest).unwrap();
    }
    fs::create_dir_all(folder.join("names/src")).unwrap();
    let names = "[package]\nname = \"names\"\nversion = \"0.0.0\"\n";
    fs::write(folder.join("names/Cargo.toml"), names).unwrap();
    let source = "#[macro_export]\nmacro_rules! wait { ($a:expr) => { futures::Future::wait($a).unwrap() } }\n";
    fs::write(folder.join("names/src/lib.rs"), source).unwrap();
    commit(&folder);

    let text = fix(&folder, &["--write"]);
    for (package, why) in [("fix-undo", ""), ("odd", "cargo check failed: ")] {
        let kept = format!("not changed: the name futures in {package}: it would not build ({why}");
        assert!(text.contains(&kept), "{kept}: {text}");
    }
    let source = read(&folder, "src/lib.rs");
    assert!(
        source.starts_with("use futures::Future;") && source.contains("Box<dyn Future"),
        "{source}"
    );
    assert!(read(&folder, "Cargo.toml").contains("\nfutures = \"0.1.31\"\n"));
}

#[test]
fn what_is_not_compiled_or_shared_keeps_its_name() {
    let folder = repository(
        "fix-kept",
        "futures = \"0.1.31\"\n",
        "\
extern crate futures;
pub mod shared;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_too;
",
    );
    fs::write(
        folder.join("src/windows.rs"),
        "fn f(a: Box<futures::Future<Item = (), Error = ()>>) {}\n",
    )
    .unwrap();
    // It needs the crate at the root.
    let source = "use crate::{futures::Future};\n";
    fs::write(folder.join("src/windows_too.rs"), source).unwrap();
    fs::write(folder.join("shared.rs"), "pub fn f(_: Box<Fn()>) {}\n").unwrap();
    std::os::unix::fs::symlink("../shared.rs", folder.join("src/shared.rs")).unwrap();
    commit(&folder);
    let text = fix(&folder, &[]);
    assert_eq!(
        text,
        "not changed: the name futures in fix-kept: src/windows.rs:1: this file is not compiled here\n\
         0 files to change; --write changes them\n"
    );
}

#[test]
fn what_git_could_not_undo_is_not_written() {
    let source = "mod ignored;\npub fn f(_: Box<Fn()>) {}\n";
    let folder = repository("fix-unsafe", "futures = \"0.1.31\"\n", source);
    let ignored = "pub fn g(_: Box<Fn()>) {}\n";
    fs::write(folder.join("src/ignored.rs"), ignored).unwrap();
    fs::write(folder.join(".gitignore"), "Cargo.lock\nignored.rs\n").unwrap();
    commit(&folder);
    let refused = |why: &str| {
        let output = command(&folder, &["--fix", "--write"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let error = stderr(&output);
        let line = error.lines().last().unwrap();
        assert!(
            line.contains("src/ignored.rs") && line.contains(why),
            "{error}"
        );
        assert_eq!(read(&folder, "src/lib.rs"), source);
        let manifest = read(&folder, "Cargo.toml");
        assert!(!manifest.contains("futures01"), "{manifest}");
    };
    refused("git cannot restore");
    assert_eq!(read(&folder, "src/ignored.rs"), ignored);

    // The user edits a file while the project builds.
    let tree = folder.join("src/ignored.rs");
    let script = format!("fn main() {{\n    std::fs::write({tree:?}, \"// mine\").unwrap();\n}}\n");
    fs::write(folder.join("build.rs"), script).unwrap();
    git(&folder, &["add", "-f", "src/ignored.rs"]);
    commit(&folder);
    refused("was changed while this ran");
    assert_eq!(read(&folder, "src/ignored.rs"), "// mine");
}

#[test]
fn an_async_caller_awaits_through_the_adapter() {
    let adapters = concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters");
    let dependencies =
        format!("futures = \"0.1.31\"\ntokio-core-compat = {{ path = {adapters:?}, default-features = false }}\n");
    let source = "\
use futures::future;
fn old() -> future::FutureResult<u8, String> { future::ok(1) }
pub async fn calls() -> Result<u8, String> {
    Ok(old().await? + future::ok::<u8, String>(2).await?)
}
";
    let folder = repository("fix-await", &dependencies, source);
    fix(&folder, &["--write"]);
    assert_eq!(
        read(&folder, "src/lib.rs").lines().nth(3),
        Some("    Ok(tokio_core_compat::task::AsStd::new(old()).await? + tokio_core_compat::task::AsStd::new(future01::ok::<u8, String>(2)).await?)".replace("future01::", "future::").as_str())
    );
    let built = Command::new(env!("CARGO"))
        .args(["check", "-q"])
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(built.success());
}
