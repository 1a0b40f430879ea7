//! `--history` draws the saved counts by the git history of their file, and scans nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{command, package, stderr};

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost"]);
    assert!(
        command.args(arguments).output().unwrap().status.success(),
        "{arguments:?}"
    );
}

/// Writes counts as --save does.
fn save(folder: &Path, uses: &str) {
    let saved = format!("{{\"options\": [], \"uses\": {uses}}}");
    fs::write(folder.join("legacy-scan.json"), saved).unwrap();
}

fn commit(folder: &Path, uses: &str) {
    save(folder, uses);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-m", "counts"]);
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(folder, arguments).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), stdout, stderr(&output))
}

#[test]
fn the_burn_down_has_a_line_for_each_commit() {
    let folder = package("history", "", "");
    git(&folder, &["init"]);
    commit(
        &folder,
        "{\"a.rs\": {\"1\": 30, \"20\": 10}, \"b.rs\": {\"3\": 10}}",
    );
    commit(&folder, "<<<<<<< no counts");
    commit(&folder, "{\"a.rs\": {\"1\": 25}}");
    save(&folder, "{}");

    let (code, text, stderr) = run(&folder, &["--history"]);
    assert_eq!(code, Some(0), "{stderr}");
    let bars: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" uses in "))
        .map(|line| line.chars().filter(|c| *c == '#').count())
        .collect();
    assert_eq!(bars, [50, 25, 0], "{text}");
    assert!(
        text.contains("50 uses in    2 files") && text.contains("left out: 1 commit"),
        "{text}"
    );

    let (code, page, _) = run(&folder, &["--history", "--html", "-"]);
    assert_eq!(code, Some(0));
    assert_eq!(page.matches("class=\"bar\"").count(), 3, "{page}");
    assert!(
        page.contains("width: 50.0%") && !page.contains("http"),
        "{page}"
    );
}

#[test]
fn only_the_latest_commits_are_drawn() {
    let folder = package("long-history", "", "");
    git(&folder, &["init"]);
    for uses in 1..=61 {
        commit(&folder, &format!("{{\"a.rs\": {{\"1\": {uses}}}}}"));
    }
    let (_, text, _) = run(&folder, &["--history"]);
    let drawn: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" uses in "))
        .collect();
    assert_eq!(drawn.len(), 60);
    assert!(
        drawn[0].contains(" 2 uses") && text.contains("the latest 60 commits"),
        "{text}"
    );
}

#[test]
fn without_a_history_one_line_says_so() {
    // Outside of this repository.
    let folder = std::env::temp_dir().join(format!("legacy-scan-history-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let failure = |what: &str| {
        let (code, _, stderr) = run(&folder, &["--history"]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(
            stderr.starts_with("cargo legacy-scan: ") && stderr.lines().count() == 1,
            "{stderr}"
        );
        assert!(stderr.contains(what), "{stderr}");
    };
    failure("cannot read legacy-scan.json");
    fs::write(folder.join("legacy-scan.json"), "[]").unwrap();
    failure("is not a file of --save");
    save(&folder, "{}");
    failure("isn't in a git repository");
    git(&folder, &["init"]);
    failure("git has no commit of legacy-scan.json");
    fs::remove_dir_all(&folder).unwrap();
}
