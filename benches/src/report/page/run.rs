//! What the page shows of one run.

use serde::Serialize;

use super::forest::{range, Forest};
use crate::report::results::{Figure, Peer, Results, Sample};
use crate::report::targets::{score, Bound, Line, Verdict};
use crate::report::{headline, number};
use crate::rigs::Outcome;

#[derive(Serialize)]
pub struct Run {
    id: String,
    warnings: Vec<String>,
    score: String,
    /// The plot that isn't folded, and all others.
    first: Option<Forest>,
    figures: Vec<Forest>,
    targets: Vec<Targets>,
    pairs: Vec<Pairs>,
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
    word: String,
    title: String,
    bound: String,
    found: String,
    source: &'static str,
}

/// How many pairs of rounds a comparison has, and how many tell 3 % from nothing.
#[derive(Serialize)]
pub struct Pairs {
    rival: &'static str,
    taken: usize,
    needed: usize,
}

pub fn runs(outcomes: &[Outcome]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for outcome in outcomes {
        let before = runs
            .iter()
            .filter(|run| run.stored.rig == outcome.results.rig);
        let id = match before.count() {
            0 => outcome.results.rig.to_string(),
            n => format!("{}-{}", outcome.results.rig, n + 1),
        };
        runs.push(run(outcome, id));
    }
    runs
}

fn run(Outcome { results, lines }: &Outcome, id: String) -> Run {
    let measured = results.measured();
    let named = |name: &&str| measured.iter().find(|f| f.name == *name);
    let shown = results.plotted.iter().find_map(named);
    let forest = |f: &Figure| Forest::of(results, f, sorted(results, f).into_iter());
    let others = measured
        .iter()
        .filter(|f| Some(f.name) != shown.map(|s| s.name));
    Run {
        id,
        warnings: results.warnings(),
        score: score(lines),
        first: shown.and_then(forest),
        figures: others.filter_map(forest).collect(),
        targets: targets(results, lines),
        pairs: pairs(results),
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
    let median = |name: &str| {
        results
            .spread(figure.name, name)
            .map_or(f64::NAN, |s| s.median)
    };
    let mut peers: Vec<_> = results.peers.iter().collect();
    peers.sort_by(|a, b| median(&a.name).total_cmp(&median(&b.name)));
    if !figure.less_is_better {
        peers.reverse();
    }
    peers
}

pub fn pairs(results: &Results) -> Vec<Pairs> {
    let all = headline::pairs(results).into_iter();
    all.map(|(rival, taken, needed)| Pairs {
        rival,
        taken,
        needed,
    })
    .collect()
}

fn targets(results: &Results, lines: &[Line]) -> Vec<Targets> {
    let of = |title, wanted: fn(&Option<Bound>) -> bool| Targets {
        title,
        lines: lines
            .iter()
            .filter(|l| wanted(&l.bound))
            .map(|l| target(results, l))
            .collect(),
    };
    let mut all = vec![
        of("At most: a smaller ratio is better for us", |b| {
            matches!(b, Some(Bound::AtMost(_)))
        }),
        of("At least: a greater ratio is better for us", |b| {
            matches!(b, Some(Bound::AtLeast(_)))
        }),
        of(
            "Nothing promised: another peer, divided by ours",
            Option::is_none,
        ),
    ];
    all.retain(|group| !group.lines.is_empty());
    for group in &mut all {
        group.lines.sort_by_key(|line| match line.verdict {
            Verdict::Missed => 0,
            Verdict::Undecided => 1,
            Verdict::Met => 2,
            Verdict::Shown => 3,
            Verdict::Unmeasured | Verdict::Skipped => 4,
        });
    }
    all
}

fn target(results: &Results, line: &Line) -> TargetRow {
    let figure = results.figures.iter().find(|f| f.name == line.figure);
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
        word: match line.verdict {
            Verdict::Unmeasured => "not measured".to_string(),
            Verdict::Skipped => "not asked for".to_string(),
            other => other.to_string(),
        },
        title: match &line.theirs {
            Some(theirs) => format!("{}, {ours} ÷ {theirs}", figure.map_or("", |f| f.title)),
            None => format!(
                "{} of {ours}, {}",
                figure.map_or("", |f| f.title),
                figure.map_or("", |f| f.unit)
            ),
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
