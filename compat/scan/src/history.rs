//! The burn-down: how the saved counts fell, by the git history of their file.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{ensure, Context, Result};
use serde::Serialize;

use crate::ratchet::{Counts, Saved};

/// How many commits are read, the latest.
const COMMITS: usize = 60;
/// The columns of the longest bar.
const WIDTH: usize = 50;

/// The saved counts, from the oldest commit that is read to the file as it is.
#[derive(Debug, Serialize)]
pub struct History {
    pub file: String,
    pub points: Vec<Point>,
    /// Commits that were left out since their file isn't one of --save.
    pub unreadable: usize,
    /// Whether there are commits before the first point.
    pub is_cut: bool,
}

/// The counts at one commit.
#[derive(Debug, Serialize)]
pub struct Point {
    /// The short hash, or `now` for changes that aren't committed.
    pub commit: String,
    /// As year, month and day; empty for `now`.
    pub date: String,
    pub uses: usize,
    /// The files of the project with a use in them.
    pub files: usize,
}

impl Point {
    fn of(commit: &str, date: &str, counts: &Counts) -> Self {
        Self {
            commit: commit.to_owned(),
            date: date.to_owned(),
            uses: counts.values().flat_map(|rows| rows.values()).sum(),
            files: counts.len(),
        }
    }
}

impl History {
    /// Reads the history of a file of --save. It must be tracked by git.
    pub fn of(file: &Path) -> Result<Self> {
        let now = Saved::load(file)?.uses;
        let path = file.canonicalize()?;
        let folder = path.parent().context("the file has no folder")?;
        let name = path.file_name().context("the file has no name")?;
        let name = name.to_string_lossy();
        let inside = git(folder, &["rev-parse", "--is-inside-work-tree"])?;
        let shown = file.display();
        ensure!(
            inside.status.success(),
            "{shown} isn't in a git repository, whose history --history draws"
        );
        let limit = format!("-{}", COMMITS + 1);
        let log = git(folder, &["log", &limit, "--format=%h %cs", "--", &name])?;
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        let mut commits: Vec<_> = log
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        ensure!(
            !commits.is_empty(),
            "git has no commit of {shown}; commit the file of --save first"
        );
        let is_cut = commits.len() > COMMITS;
        commits.truncate(COMMITS);
        let (mut points, mut unreadable) = (Vec::new(), 0);
        for (commit, date) in commits.into_iter().rev() {
            let content = git(folder, &["show", &format!("{commit}:./{name}")])?;
            match serde_json::from_slice::<Saved>(&content.stdout) {
                Ok(saved) => points.push(Point::of(commit, date, &saved.uses)),
                Err(_) => unreadable += 1,
            }
        }
        let now = Point::of("now", "", &now);
        let is_same = |last: &Point| (last.uses, last.files) == (now.uses, now.files);
        if !points.last().is_some_and(is_same) {
            points.push(now);
        }
        Ok(Self {
            file: shown.to_string(),
            points,
            unreadable,
            is_cut,
        })
    }

    /// The history as bars of text.
    pub fn text(&self) -> String {
        let most = self.most();
        let mut text = format!("uses of futures 0.1 in {}\n", self.file);
        if self.is_cut {
            text.push_str(&format!("  the latest {COMMITS} commits\n"));
        }
        for point in &self.points {
            let bar = "#".repeat((point.uses * WIDTH).div_ceil(most));
            text.push_str(&format!(
                "  {:10} {:9} {:>6} uses in {:>4} files {bar}\n",
                point.date, point.commit, point.uses, point.files
            ));
        }
        if self.unreadable > 0 {
            text.push_str(&format!("  left out: {}\n", self.left_out()));
        }
        text
    }

    /// The history as a page with one drawing.
    pub fn html(&self) -> Result<String> {
        let mut environment = minijinja::Environment::new();
        environment.add_template("history.html", include_str!("report/history.html"))?;
        let most = self.most();
        let bars = self.points.iter().map(|point| {
            let share = (point.uses * 1000).div_ceil(most) as f64 / 10.0;
            minijinja::context! { point, share }
        });
        let bars: Vec<_> = bars.collect();
        let left_out = self.left_out();
        let page = environment.get_template("history.html")?;
        Ok(page
            .render(minijinja::context! { history => self, bars, left_out, commits => COMMITS })?)
    }

    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    fn most(&self) -> usize {
        let uses = self.points.iter().map(|point| point.uses);
        uses.max().unwrap_or_default().max(1)
    }

    fn left_out(&self) -> String {
        match self.unreadable {
            1 => "1 commit whose file isn't one of --save".to_owned(),
            count => format!("{count} commits whose files aren't of --save"),
        }
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Output> {
    Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .output()
        .context("cannot start git, which --history requires")
}
