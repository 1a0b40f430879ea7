//! What the page shows of one run.

use serde::Serialize;

use super::forest::Forest;
use crate::measure::headline;
use crate::model::{Bound, Figure, Line, Outcome, Peer, Results, Sample, Verdict};
use crate::report::judge::score;
use crate::report::number::{number, range};

#[derive(Serialize)]
pub struct Run {
    id: String,
    warnings: Vec<String>,
    score: String,
    /// The plot that isn't folded, and all others.
    first: Option<Forest>,
    figures: Vec<Forest>,
    targets: Vec<Targets>,
    /// Rivals, with the pairs of rounds that were taken, and those that tell 3 % from nothing.
    pairs: Vec<(&'static str, usize, usize)>,
    /// Steal and the CPU of foreign processes, in seconds; absent in runs that didn't look.
    foreign: Option<[String; 2]>,
    samples: usize,
    /// The run as it is stored, without its samples.
    stored: Results,
}

/// Targets whose ratios are read in the same way.
#[derive(Serialize)]
struct Targets {
    title: &'static str,
    lines: Vec<TargetRow>,
}

#[derive(Serialize)]
struct TargetRow {
    verdict: Verdict,
    title: String,
    bound: String,
    found: String,
    source: &'static str,
}

pub fn runs(outcomes: &[Outcome]) -> Vec<Run> {
    let run = |(nth, outcome): (usize, &Outcome)| {
        let rig = outcome.results.rig;
        let before = outcomes[..nth].iter().filter(|o| o.results.rig == rig);
        let id = match before.count() {
            0 => rig.to_string(),
            count => format!("{rig}-{}", count + 1),
        };
        run(outcome, id)
    };
    outcomes.iter().enumerate().map(run).collect()
}

fn run(Outcome { results, lines }: &Outcome, id: String) -> Run {
    let measured = results.measured();
    let named = |name: &&str| measured.iter().find(|f| f.name == *name);
    let shown = results.plotted.iter().find_map(named).or(measured.first());
    let forest = |f: &Figure| Forest::of(results, f, sorted(results, f).into_iter());
    let is_other = |f: &&Figure| Some(f.name) != shown.map(|s| s.name);
    let others = measured.iter().filter(is_other);
    Run {
        id,
        warnings: results.warnings(),
        score: score(lines),
        first: shown.and_then(forest),
        figures: others.filter_map(forest).collect(),
        targets: targets(results, lines),
        pairs: headline::pairs(results),
        foreign: foreign(results),
        samples: results.samples.len(),
        stored: Results {
            samples: Vec::new(),
            ..results.clone()
        },
    }
}

/// The peers by their median, the best first.
fn sorted<'a>(results: &'a Results, figure: &Figure) -> Vec<&'a Peer> {
    let median = |name: &str| results.median(figure.name, name).unwrap_or(f64::NAN);
    let mut peers: Vec<_> = results.peers.iter().collect();
    peers.sort_by(|a, b| median(&a.name).total_cmp(&median(&b.name)));
    if !figure.less_is_better {
        peers.reverse();
    }
    peers
}

fn targets(results: &Results, lines: &[Line]) -> Vec<Targets> {
    let of = |title, wanted: fn(&Option<Bound>) -> bool| {
        let mut lines: Vec<&Line> = lines.iter().filter(|l| wanted(&l.bound)).collect();
        lines.sort_by_key(|line| line.verdict);
        let lines = lines.into_iter().map(|l| target(results, l)).collect();
        Targets { title, lines }
    };
    let at_most = |b: &Option<Bound>| matches!(b, Some(Bound::AtMost(_)));
    let at_least = |b: &Option<Bound>| matches!(b, Some(Bound::AtLeast(_)));
    let mut all = vec![
        of("At most: a smaller ratio is better for us", at_most),
        of("At least: a greater ratio is better for us", at_least),
        of(
            "Nothing promised: another peer, divided by ours",
            Option::is_none,
        ),
    ];
    all.retain(|group| !group.lines.is_empty());
    all
}

fn target(results: &Results, line: &Line) -> TargetRow {
    let (title, unit) = results
        .figure(line.figure)
        .map_or(("", ""), |f| (f.title, f.unit));
    let subject = results.subject().map_or("", |s| &s.name);
    let ours = line.ours.as_deref().unwrap_or(subject);
    let bound = line.bound.map_or(String::new(), |bound| match bound {
        Bound::AtMost(limit) => format!("≤ {limit:.2}"),
        Bound::AtLeast(limit) => format!("≥ {limit:.2}"),
    });
    let found = line.ratio.map(|s| match s.count {
        1 => number(s.median),
        _ => format!("{} ({})", number(s.median), range(s.low, s.high)),
    });
    TargetRow {
        verdict: line.verdict,
        title: match &line.theirs {
            Some(theirs) => format!("{title}, {ours} ÷ {theirs}"),
            None => format!("{title} of {ours}, {unit}"),
        },
        bound,
        found: found.unwrap_or_else(|| "–".to_string()),
        source: line.source,
    }
}

fn foreign(results: &Results) -> Option<[String; 2]> {
    let sum = |of: fn(&Sample) -> Option<f64>| {
        let all: Option<Vec<f64>> = results.samples.iter().map(of).collect();
        Some(number(all?.iter().sum()))
    };
    Some([sum(|s| s.foreign.steal)?, sum(|s| s.foreign.others)?])
}
