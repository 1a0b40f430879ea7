//! Compares ptunnel's reading of the same input with that of curl, Python's http.client and squid.
//!
//! A difference is no defect by itself. But each difference has a reason in a table here, and one
//! without a reason fails: it is a head or a list that two programs on one path read differently
//! without a known reason.
//!
//! The rungs of the ladder use the root's parsers. With `PTUNNEL_BIN` at a rung, the test shows how
//! it feeds them and what it does with their results.

mod heads;
mod no_proxy;
mod requests;

use std::process::Command;

use crate::scale::scale;
use support::program::clean_command;

/// The program of a pair that refused what the other one accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stricter {
    Ours,
    Theirs,
}

use Stricter::{Ours, Theirs};

/// Why one of two programs is stricter than the other about input with one of these traits.
struct Row {
    judge: &'static str,
    stricter: Stricter,
    traits: &'static [&'static str],
    why: &'static str,
}

/// One trait of a row, as a separate reason.
struct Reason {
    judge: &'static str,
    stricter: Stricter,
    name: &'static str,
    why: &'static str,
    /// Number of differences for which it was the only reason.
    alone: usize,
}

/// The differences without a reason, collected so that one run shows all of them.
struct Comparison {
    reasons: Vec<Reason>,
    unexplained: Vec<String>,
}

impl Comparison {
    fn new(rows: &[Row]) -> Comparison {
        let reasons = rows.iter().flat_map(|row| {
            row.traits.iter().map(move |name| Reason {
                judge: row.judge,
                stricter: row.stricter,
                name,
                why: row.why,
                alone: 0,
            })
        });
        Comparison {
            reasons: reasons.collect(),
            unexplained: Vec::new(),
        }
    }

    /// Looks for a reason why `judge` differs from ptunnel on input with these traits.
    fn differs(&mut self, judge: &str, stricter: Stricter, traits: &[&str], shown: String) {
        let mut found: Vec<&mut Reason> = self
            .reasons
            .iter_mut()
            .filter(|it| it.judge == judge && it.stricter == stricter && traits.contains(&it.name))
            .collect();
        match &mut found[..] {
            [] => self.unexplained.push(shown),
            [reason] => reason.alone += 1,
            _ => {}
        }
    }

    /// Prints how often each reason was the only one. Panics if a difference had none and, in the
    /// long form, if a reason was never the only one: it would excuse unrelated differences.
    #[track_caller]
    fn finish(self, judged: usize) {
        println!("{} judged", judged);
        for it in &self.reasons {
            println!(
                "{:>5} {}, stricter: {:?}: {}: {}",
                it.alone, it.judge, it.stricter, it.name, it.why
            );
        }
        let count = self.unexplained.len();
        assert!(
            count == 0,
            "{} of {} differ without a reason:\n{}",
            count,
            judged,
            self.unexplained.join("\n")
        );
        let idle = self.reasons.iter().filter(|it| it.alone == 0);
        let idle: Vec<_> = idle.map(|it| (it.judge, it.stricter, it.name)).collect();
        let is_long = scale(false, true);
        assert!(
            !is_long || idle.is_empty(),
            "these explain nothing: {:?}",
            idle
        );
    }
}

/// Returns each of `every` alone, then pairs of them without repetition, until there are `count`.
fn combinations(every: usize, count: usize) -> Vec<(usize, usize)> {
    // A prime that doesn't divide the number of pairs reaches all of them.
    const STRIDE: usize = 1_009;
    assert!(every % STRIDE != 0 && count <= every * every);
    let pairs = (0..every * every).map(|n| n * STRIDE % (every * every));
    let pairs = pairs.map(|n| (n / every, n % every));
    let alone = (0..every).map(|n| (n, n));
    alone
        .chain(pairs.filter(|(a, b)| a != b))
        .take(count)
        .collect()
}

/// Returns a program's stdout; panics if it couldn't be run at all.
fn output(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|e| panic!("{:?}: {} (make setup installs it)", command, e));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns curl's results for `urls`, in their order: the proxy's status and the origin's.
fn curl(args: &[&str], urls: &[String]) -> Vec<(i32, i32)> {
    let mut statuses = Vec::new();
    // A head that is too long for curl ends the whole run with an error about memory.
    while statuses.len() < urls.len() {
        let mut command = clean_command("curl");
        command.args(&["--silent", "--globoff", "--max-time", "30"]);
        command.args(&["--write-out", "\nverdict %{http_connect} %{http_code}\n"]);
        let said = output(command.args(args).args(&urls[statuses.len()..]));
        let before = statuses.len();
        let lines = said
            .lines()
            .filter_map(|line| line.strip_prefix("verdict "));
        statuses.extend(lines.map(|line| {
            let mut words = line.split(' ').map(|word| word.parse().expect("a status"));
            (words.next().unwrap(), words.next().unwrap())
        }));
        assert!(statuses.len() > before, "{:?} said {}", command, said);
    }
    assert_eq!(statuses.len(), urls.len());
    statuses
}
