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
    if peer.spec.build.is_none() {
        return Err(io::Error::other("a package isn't built here"));
    }
    let project = project()?;
    let size = stripped(&peer.binary, &bench.folder)? as f64 / 1024.0;
    let (mut lines, mut differing, mut tree) = (None, None, None);
    if let Some(folder) = tree_of(&peer.spec.name) {
        let folder = project.join(folder);
        tree = Some(packages(&folder)? as f64);
        lines = Some(lines_below(&folder.join("src"))? as f64);
        let count = changed(patches(&project)?, &peer.spec.name);
        differing = count.map(|count| count as f64);
    }
    let built = peer.built_in.map(|time| time.as_secs_f64());
    Ok(Taken::of([Some(size), lines, differing, tree, built]))
}

/// The folder of ptunnel or of a rung, once that is built; none of another peer, whose lines do something else.
fn tree_of(peer: &str) -> Option<String> {
    if peer == "ptunnel" {
        return Some(String::new());
    }
    peer.strip_prefix('r')?.parse::<usize>().ok()?;
    // The last one has a folder, the others are patches.
    let folder = if peer == "r5" { "compat" } else { "target" };
    Some(format!("{folder}/ladder/{peer}"))
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

/// Packages in the tree of the one in this folder, itself left out.
fn packages(folder: &Path) -> io::Result<usize> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--locked", "-e", "normal", "--prefix", "none"])
        .current_dir(folder);
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

/// The steps of the ladder, in order.
fn patches(project: &Path) -> io::Result<Vec<String>> {
    let steps = fs::read_dir(project.join("compat/ladder/steps"))?;
    let mut steps = steps
        .map(|step| Ok(step?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    steps.retain(|step| step.extension().is_some_and(|name| name == "patch"));
    steps.sort();
    steps.iter().map(fs::read_to_string).collect()
}

/// Lines that the steps from the rung below to this one add and delete.
fn changed(patches: Vec<String>, rung: &str) -> Option<usize> {
    let mut lines = 0;
    for patch in patches {
        let (message, difference) = patch.split_once("\ndiff --git ")?;
        lines += marked(difference);
        match message.lines().find_map(|line| line.strip_prefix("Rung: ")) {
            Some(reached) if reached == rung => return Some(lines),
            Some(_) => lines = 0,
            None => {}
        }
    }
    None
}

/// Added and deleted lines of a difference, without its heads.
fn marked(difference: &str) -> usize {
    let is_head = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
    let is_marked = |line: &&str| line.starts_with(['+', '-']) && !is_head(line);
    difference.lines().filter(is_marked).count()
}

/// Lines of Rust below a folder, without blanks, comments and the files of tests.
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
    fn a_rung_has_the_lines_of_its_steps() {
        let step =
            |end: &str| format!("one lesson\n\n- a list{end}\n\ndiff --git a/x b/x\n-old\n+new\n");
        let steps = || vec![step("\n\nRung: r0"), step(""), step("\n\nRung: r1")];
        assert_eq!(changed(steps(), "r0"), Some(2));
        assert_eq!(changed(steps(), "r1"), Some(4));
        assert_eq!(changed(steps(), "ptunnel"), None);
    }

    #[test]
    fn the_product_and_its_rungs_have_a_tree() {
        assert_eq!(tree_of("r3").as_deref(), Some("target/ladder/r3"));
        assert!(tree_of("tokio").is_none() && tree_of("r0-0.1.18").is_none());
        let ptunnel = project().unwrap().join(tree_of("ptunnel").unwrap());
        assert!(lines_below(&ptunnel.join("src")).unwrap() > 1000);
    }
}
