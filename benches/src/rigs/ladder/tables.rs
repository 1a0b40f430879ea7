//! The tables of the course, from the samples of one run.

use std::fmt::Write;

use super::{DETOUR, PEERS};
use crate::report::Results;

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
const REACTORS: &[&str] = &["ptunnel", "r0", "r1", "r5", "tokio"];

/// Every rung beside the product and a relay on tokio 1.
pub fn ladder(results: &Results) -> String {
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

/// The product, whose reactor is its own, beside tokio-core's sockets, the drop-in and tokio 1.
pub fn reactor(results: &Results) -> String {
    table(results, REACTORS, REACTOR)
}

fn table(results: &Results, peers: &[&str], rows: &[Row]) -> String {
    let mut text = provenance(results);
    let heads = peers.iter().map(|peer| match *peer {
        "tokio" => "`copy_bidirectional`".to_string(),
        peer => peer.to_string(),
    });
    line(&mut text, "", heads);
    line(&mut text, "---", peers.iter().map(|_| "--:".to_string()));
    for &(figure, title, unit) in rows {
        let median = |peer: &&str| Some(results.spread(figure, peer)?.median / unit);
        let values: Vec<Option<f64>> = peers.iter().map(median).collect();
        if values.iter().any(Option::is_some) {
            line(&mut text, title, values.into_iter().map(cell));
        }
        if figure == CPU && results.spread(CPU, BEFORE).is_some() {
            let title = format!("the same, beside {BEFORE}'s");
            line(
                &mut text,
                &title,
                peers.iter().map(|peer| beside(results, peer)),
            );
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
    let commit = results.commit.as_deref().unwrap_or("an unknown commit");
    let rustc = results.rustc.as_deref().unwrap_or("an unknown rustc");
    let machine = &results.machine;
    let mut text = format!(
        "Run of {} at {}, {}, {} cores of {}.",
        results.date,
        commit.get(..7).unwrap_or(commit),
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

fn line(text: &mut String, title: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(text, "| {title} | {} |", cells.join(" | "));
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
    use crate::peers::Kind;
    use crate::report::results::{figure, tests::example};

    #[test]
    fn a_row_has_a_cell_for_each_column_and_ratios_behind_cpu() {
        let figures = [
            figure(CPU, "µs", "CPU", true),
            figure("ping-p50", "µs", "ping", true),
        ];
        let peers = [
            ("ptunnel", Kind::Subject, 2.0),
            ("r0", Kind::Variant, 4.0),
            ("tokio", Kind::Program, 3_000.0),
        ];
        let results = example(&figures, &peers);
        let text = table(&results, &["ptunnel", "r0", "r1", "tokio"], LADDER);
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
