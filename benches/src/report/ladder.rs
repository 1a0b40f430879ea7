//! The rungs of the ladder in one run of the relay rig, and the tables of the course that are made of it.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::markers::fill;
use super::run::run;
use crate::measure::Options;
use crate::model::Results;
use crate::peers::find::project;
use crate::rigs::relay;

/// Of the relay rig, in the order of the columns.
const PEERS: &str = "ptunnel r0 r1 r2 r3 r4 r5 tokio";
/// Measured beside them, CPU alone: the detour of r0.
const DETOUR: &str = "r0-0.1.18";
const GROUPS: &str = "cpu instructions calls tunnels ping memory start program";

/// The page that has the tables, in the project's folder.
const PAGE: &str = "compat/ladder/README.md";
/// Where the samples are that the tables are made of.
const KEPT: &str = "benches/results/ladder";
/// Where a run leaves all of its files.
const SCRATCH: &str = "benches/results/tmp/ladder";

/// A row: a figure, its title, and what divides it.
type Row = (&'static str, &'static str, f64);

const CPU: &str = "cpu";
const BEFORE: &str = "r0";

const LADDER: &[Row] = &[
    (CPU, "CPU per small request, µs", 1.0),
    ("instructions", "user instructions per small request", 1.0),
    ("allocations", "allocations per small request", 1.0),
    ("calls-io", "calls that move bytes, per message", 1.0),
    ("calls-other", "other system calls per message", 1.0),
    ("ping-p50", "ping beside four bulk tunnels, p50, ms", 1e3),
    ("ping-p99", "ping beside four bulk tunnels, p99, ms", 1e3),
    ("tunnels-cpu", "CPU per new tunnel, µs", 1.0),
    ("memory-1000", "memory per idle tunnel of 1,000, KiB", 1.0),
    ("memory-10000", "memory per idle tunnel of 10,000, KiB", 1.0),
    ("start", "cold start, ms", 1.0),
    ("changed", "lines changed from the rung below", 1.0),
    ("lines", "lines of the engine", 1.0),
    ("packages", "packages in its tree", 1.0),
    ("build", "release build from nothing, s", 1.0),
    ("size", "program without symbols, KiB", 1.0),
];

/// Those that the product's reactor changes.
const REACTOR: &[Row] = &[
    LADDER[0], LADDER[1], LADDER[3], LADDER[4], LADDER[5], LADDER[7], LADDER[9], LADDER[12],
];
const REACTORS: &str = "ptunnel r0 r1 r5 tokio";

/// Runs the relay rig with the rungs; `options` may name other peers and figures. The samples are kept, but for those of
/// a quick run or one with its own folder.
///
/// # Errors
/// Those of the rig.
pub fn measure(options: Options) -> io::Result<()> {
    let or = |given: Vec<String>, own: &str| match given.is_empty() {
        true => own.split(' ').map(String::from).collect(),
        false => given,
    };
    let is_kept = options.out.is_none() && !options.quick;
    let out = options.out.unwrap_or(project()?.join(SCRATCH));
    let options = Options {
        peers: or(options.peers, &format!("{PEERS} {DETOUR}")),
        figures: or(options.figures, GROUPS),
        out: Some(out.clone()),
        unpaired: true,
        ..options
    };
    run(&[&relay::RIG], &options)?;
    if is_kept {
        let kept = project()?.join(KEPT);
        fs::create_dir_all(&kept)?;
        fs::copy(out.join("results.json"), kept.join("results.json"))?;
    }
    Ok(())
}

/// Writes the tables into the page, from the run in `folder`, or from the one that is kept.
///
/// # Errors
/// When the folder has no run of the relay rig, or the page has no place for a table.
pub fn write(folder: Option<PathBuf>) -> io::Result<()> {
    let project = project()?;
    let path = project.join(PAGE);
    let folder = folder.unwrap_or_else(|| project.join(KEPT));
    let text = with_tables(&fs::read_to_string(&path)?, &folder)?;
    fs::write(path, text)
}

fn with_tables(page: &str, folder: &Path) -> io::Result<String> {
    let results = Results::read(folder)?;
    let page = fill(page, "ladder", &ladder(&results))?;
    fill(&page, "reactor", &table(&results, REACTORS, REACTOR))
}

/// Every rung beside the product and a relay on tokio 1.
fn ladder(results: &Results) -> String {
    let mut text = table(results, PEERS, LADDER);
    if results.ratio(CPU, DETOUR, BEFORE).is_some() {
        let ratio = beside(results, DETOUR);
        let _ = writeln!(
            text,
            "\n{BEFORE} on tokio-core 0.1.18 takes {ratio} of {BEFORE}'s CPU per small request."
        );
    }
    text
}

fn table(results: &Results, peers: &str, rows: &[Row]) -> String {
    let mut text = provenance(results);
    let mut line = |title: &str, cell: &dyn Fn(&str) -> String| {
        let cells: Vec<String> = peers.split(' ').map(cell).collect();
        let _ = writeln!(text, "| {title} | {} |", cells.join(" | "));
    };
    line("", &|peer| match peer {
        "tokio" => "`copy_bidirectional`".to_string(),
        peer => peer.to_string(),
    });
    line("---", &|_| "--:".to_string());
    for &(figure, title, unit) in rows {
        let median = |peer: &str| Some(results.median(figure, peer)? / unit);
        if peers.split(' ').any(|peer| median(peer).is_some()) {
            line(title, &|peer| cell(median(peer)));
        }
        if figure == CPU && results.median(CPU, BEFORE).is_some() {
            let title = format!("the same, beside {BEFORE}'s");
            line(&title, &|peer| beside(results, peer));
        }
    }
    text
}

/// The ratio of a peer's CPU to that of the program before, with its interval.
fn beside(results: &Results, peer: &str) -> String {
    match results.ratio(CPU, peer, BEFORE) {
        Some(ratio) if peer != BEFORE => {
            format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.low, ratio.high)
        }
        _ => cell(None),
    }
}

/// Where the figures are from, and what makes them worth less.
fn provenance(results: &Results) -> String {
    let rustc = results.rustc.as_deref().unwrap_or("an unknown rustc");
    let machine = &results.machine;
    let mut text = format!(
        "Run of {} at {}, {}, {} cores of {}.",
        results.date,
        results.short_commit(),
        rustc.split(" (").next().unwrap_or(rustc),
        machine.cores,
        machine.cpu
    );
    // What the command line left out is in no table.
    for warning in results.warnings() {
        if !warning.starts_with("Narrowed") {
            let _ = write!(text, " **{warning}**");
        }
    }
    text + "\n\n"
}

/// Three digits or more, with commas between thousands.
fn cell(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "–".to_string();
    };
    // Counts of allocations may differ from 0 by a table that grew in one of two lives.
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    let decimals = match value.abs() {
        a if a >= 100.0 || a == 0.0 => 0,
        a if a >= 10.0 && a.fract() == 0.0 => 0,
        a if a >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::example;
    use crate::model::{less, Kind};
    use crate::rigs;

    /// A table is written by the rig alone, and a new run is written into the page.
    #[test]
    fn the_page_has_the_tables_of_the_run_that_is_kept() {
        let project = project().unwrap();
        let page = fs::read_to_string(project.join(PAGE)).unwrap();
        let written = with_tables(&page, &project.join(KEPT)).unwrap();
        assert_eq!(written, page, "rigs ladder --write");
    }

    #[test]
    fn every_peer_and_group_is_the_relay_rigs() {
        let peers = rigs::shipped(relay::RIG.name);
        for name in PEERS.split(' ').chain([DETOUR]) {
            assert!(peers.iter().any(|peer| peer.name == name), "{name}");
        }
        for name in GROUPS.split(' ') {
            assert!(relay::RIG.groups.iter().any(|g| g.name == name), "{name}");
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column_and_ratios_behind_cpu() {
        let figures = [less(CPU, "µs", "CPU"), less("ping-p50", "µs", "ping")];
        let peers = [
            ("ptunnel", Kind::Subject, 2.0),
            ("r0", Kind::Variant, 4.0),
            ("tokio", Kind::Program, 3_000.0),
        ];
        let results = example(&figures, &peers);
        let text = table(&results, "ptunnel r0 r1 tokio", LADDER);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "|  | ptunnel | r0 | r1 | `copy_bidirectional` |",
                "| --- | --: | --: | --: | --: |",
                "| CPU per small request, µs | 4.00 | 8.00 | – | 6,000 |",
                "| the same, beside r0's | 0.50 (0.50–0.50) | – | – | 750.00 (750.00–750.00) |",
                "| ping beside four bulk tunnels, p50, ms | 0 | 0.01 | – | 6.00 |",
            ]
        );
    }

    #[test]
    fn numbers_are_short() {
        let cells = [1_234_567.8, 999.6, 42.04, 1.005, -0.0001, -1234.0].map(|v| cell(Some(v)));
        assert_eq!(cells, ["1,234,568", "1,000", "42.0", "1.00", "0", "-1,234"]);
        assert_eq!(cell(None), "–");
    }
}
