//! What a program consists of: size, packages, lines, and how long its build from nothing takes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{Bench, Taken};
use crate::peers::find::project;
use crate::peers::Found;
use crate::tools::program::output;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let Some(build) = &peer.spec.build else {
        return Err(io::Error::other("a package isn't built here"));
    };
    let project = project()?;
    let size = stripped(&peer.binary, &bench.folder)? as f64 / 1024.0;
    let (mut lines, mut differing, mut tree) = (None, None, None);
    if let Some(Sources { engine, whole }) = Sources::of(&project, &peer.spec.name) {
        tree = Some(packages(&project, build)? as f64);
        lines = Some(lines_below(&project.join(engine))? as f64);
        if let Some([below, own]) = whole {
            let count = changed(&project.join(below), &project.join(own))?;
            differing = Some(count as f64);
        }
    }
    let built = peer.built_in.map(|time| time.as_secs_f64());
    Ok(Taken::of([Some(size), lines, differing, tree, built]))
}

/// Where ptunnel's engine is, or that of a rung.
struct Sources {
    engine: String,
    /// The sources of the step below a rung, and its own.
    whole: Option<[String; 2]>,
}

impl Sources {
    /// Of the product or a rung by its name; none of another peer, whose lines do something else.
    fn of(project: &Path, peer: &str) -> Option<Sources> {
        let (root, source) = ("src/engine", |rung| format!("compat/ladder/r{rung}/src"));
        if peer == "ptunnel" {
            let engine = root.to_string();
            return Some(Sources {
                engine,
                whole: None,
            });
        }
        let rung: usize = peer.strip_prefix('r')?.parse().ok()?;
        let engine = format!("{}/engine", source(rung));
        let whole = match rung.checked_sub(1) {
            Some(below) => [source(below), source(rung)],
            None => [root.to_string(), engine.clone()],
        };
        let is_there = project.join(&engine).exists();
        is_there.then_some(Sources {
            engine,
            whole: Some(whole),
        })
    }
}

/// The size of a program without its symbols, in bytes.
fn stripped(program: &Path, folder: &Path) -> io::Result<u64> {
    let copy = folder.join("stripped");
    let (from, to) = (program.to_string_lossy(), copy.to_string_lossy());
    output(Command::new("strip").args(["-o", &to, &from]), "binutils")?;
    let size = fs::metadata(&copy)?.len();
    fs::remove_file(&copy)?;
    Ok(size)
}

/// Packages in the tree of what `build` builds, itself left out.
fn packages(project: &Path, build: &str) -> io::Result<usize> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--locked", "-e", "normal", "--prefix", "none"])
        .current_dir(project);
    let words: Vec<&str> = build.split_whitespace().collect();
    let which = |pair: &&[&str]| ["--manifest-path", "-p"].contains(&pair[0]);
    for pair in words.windows(2).filter(which) {
        tree.args(pair);
    }
    Ok(named(&output(&mut tree, "cargo")?) - 1)
}

/// Distinct packages in what `cargo tree` prints.
fn named(tree: &str) -> usize {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some([words.next()?.to_string(), words.next()?.to_string()])
    };
    let all: BTreeSet<[String; 2]> = tree.lines().filter_map(package).collect();
    all.len()
}

/// Lines that leave or join from one folder to another, links followed.
fn changed(below: &Path, own: &Path) -> io::Result<usize> {
    let diff = Command::new("diff")
        .args(["-ruN".as_ref(), below, own])
        .output()?;
    // 2 is trouble; 1 says that they differ.
    if diff.status.code().is_none_or(|code| code > 1) {
        return Err(io::Error::other(String::from_utf8_lossy(&diff.stderr)));
    }
    Ok(marked(&String::from_utf8_lossy(&diff.stdout)))
}

/// Added and deleted lines of a difference, without its heads.
fn marked(diff: &str) -> usize {
    let is_head = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
    let is_marked = |line: &&str| line.starts_with(['+', '-']) && !is_head(line);
    diff.lines().filter(is_marked).count()
}

/// Lines of Rust below a folder, links followed, without blanks, comments and the files of tests.
fn lines_below(folder: &Path) -> io::Result<usize> {
    let mut lines = 0;
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        lines += match fs::metadata(&path)?.is_dir() {
            true => lines_below(&path)?,
            false => code(&fs::read_to_string(&path)?),
        };
    }
    Ok(lines)
}

/// Lines up to the unit tests that are neither blank nor a comment.
fn code(text: &str) -> usize {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_code_and_neither_comments_nor_tests() {
        let text = "//! Does it.\n\nfn it() {\n    // so\n    do_it()\n}\n\n#[cfg(test)]\nmod tests {\n    use it;\n}\n";
        assert_eq!(code(text), 3);
    }

    #[test]
    fn counts_changed_lines_and_packages() {
        let diff = "--- a\t1\n+++ b\t2\n@@ -1 +1,2 @@\n-old\n+new\n+--more\n same\n";
        assert_eq!(marked(diff), 3);
        assert_eq!(
            named("r5 v0.1.0 (/x)\nlog v0.4.1\nlibc v0.2.1\nlog v0.4.1 (*)\n\n"),
            3
        );
    }

    #[test]
    fn rungs_are_compared_with_what_is_below_them() {
        let project = project().unwrap();
        let of = |peer| Sources::of(&project, peer);
        let whole = |peer| {
            of(peer)
                .unwrap()
                .whole
                .map(|[below, own]| [below, own].join(" "))
        };
        let below_r0 = "src/engine compat/ladder/r0/src/engine";
        assert_eq!(whole("r0").as_deref(), Some(below_r0));
        let below_r3 = "compat/ladder/r2/src compat/ladder/r3/src";
        assert_eq!(whole("r3").as_deref(), Some(below_r3));
        assert_eq!(whole("ptunnel"), None);
        assert!(of("tokio").is_none() && of("r0-0.1.18").is_none() && of("r99").is_none());
        let lines = |peer| lines_below(&project.join(of(peer).unwrap().engine)).unwrap();
        assert!(lines("ptunnel") > lines("r0"));
    }
}
