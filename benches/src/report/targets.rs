//! Targets as data, and the line that each ends a run with.

use std::fmt;

use serde::Serialize;

use super::results::{Peer, Results};
use super::stats::Spread;
use crate::peers::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What the subject's figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// A separate limit, in the figure's unit.
    Itself,
    /// A limit for this peer's figure, whatever the subject is.
    LimitOf(&'static str),
    /// The same figure of one peer.
    Peer(&'static str),
    /// The same figure of each rival but these: programs, packages and the floor.
    EachBut(&'static [&'static str]),
    /// The figure of this peer, which need not be the subject, and the same figure of each rival but these.
    OfEachBut(&'static str, &'static [&'static str]),
    /// Of each rival that does the same steps per tunnel.
    EachOfSameSteps,
    /// Of each rival that splices.
    EachThatSplices,
    /// The first one's figure is held against the second's, whatever the subject is.
    Pair(&'static str, &'static str),
    /// The figure of this peer is held against the subject's.
    OfTheSubject(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub figure: &'static str,
    /// What a run of a rig that didn't have the figure yet is judged by.
    pub before: Option<&'static str>,
    /// None where nothing is promised.
    pub bound: Option<Bound>,
    pub against: Against,
    /// Where it comes from: a promise, an article, what the system calls allow.
    pub source: &'static str,
}

impl Target {
    pub const fn from(self, source: &'static str) -> Target {
        Target { source, ..self }
    }

    /// Judged by `before` where the run's rig didn't have the figure yet.
    pub const fn or(self, before: &'static str) -> Target {
        Target {
            before: Some(before),
            ..self
        }
    }

    /// With the figure that this run is judged by.
    fn in_run(self, results: &Results) -> Target {
        let has = results.figures.iter().any(|f| f.name == self.figure);
        Target {
            figure: self.before.filter(|_| !has).unwrap_or(self.figure),
            ..self
        }
    }
}

pub const fn target(figure: &'static str, bound: Bound, against: Against) -> Target {
    Target {
        figure,
        before: None,
        bound: Some(bound),
        against,
        source: "",
    }
}

/// That `peer` was measured is what is wanted; its ratio to the subject is there to be seen.
pub const fn shown(figure: &'static str, peer: &'static str) -> Target {
    Target {
        figure,
        before: None,
        bound: None,
        against: Against::OfTheSubject(peer),
        source: "nothing is promised",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval keeps the bound.
    Met,
    /// The whole interval breaks it.
    Missed,
    /// The interval reaches across the bound, or is of fewer than six rounds: another run may say either.
    Undecided,
    /// Nothing is promised: it is there to be seen.
    Shown,
    /// One side has no sample: missing, failed or interrupted.
    Unmeasured,
    /// The command line left one side out.
    Skipped,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub verdict: Verdict,
    pub figure: &'static str,
    pub source: &'static str,
    /// The value itself where it is held against a limit.
    pub ratio: Option<Spread>,
    /// In words.
    pub target: String,
    /// Absent where being measured is the target.
    pub bound: Option<Bound>,
    /// The peer whose figure comes first, where it isn't the subject.
    pub ours: Option<String>,
    /// Absent for a limit.
    pub theirs: Option<String>,
}

/// Fewer rounds have no interval of 95 %. A count doesn't vary, and one is enough.
const FEWEST: usize = 6;

/// One line for each target and rival.
pub fn judge(targets: &[Target], results: &Results) -> Vec<Line> {
    let Some(subject) = results.subject() else {
        return Vec::new();
    };
    targets
        .iter()
        .flat_map(|target| lines(&target.in_run(results), &subject.name, results))
        .map(|line| skipped(line, results))
        .collect()
}

/// Marks a line that has no sample because the command line left one of its sides out.
fn skipped(line: Line, results: &Results) -> Line {
    let left = &results.left_out;
    let sides = line.ours.iter().chain(&line.theirs);
    let is_left = left.figures.iter().any(|f| f == line.figure)
        || sides.clone().any(|side| left.peers.contains(side));
    match line.verdict {
        Verdict::Unmeasured if is_left => Line {
            verdict: Verdict::Skipped,
            ..line
        },
        _ => line,
    }
}

impl Against {
    /// The peers that it names.
    pub fn names(&self) -> Vec<&'static str> {
        match *self {
            Against::Itself | Against::EachOfSameSteps | Against::EachThatSplices => Vec::new(),
            Against::LimitOf(name) | Against::Peer(name) | Against::OfTheSubject(name) => {
                vec![name]
            }
            Against::EachBut(names) => names.to_vec(),
            Against::OfEachBut(one, names) => [&[one], names].concat(),
            Against::Pair(one, other) => vec![one, other],
        }
    }
}

fn lines(target: &Target, subject: &str, results: &Results) -> Vec<Line> {
    let rivals = |wanted: &dyn Fn(&Peer) -> bool| -> Vec<String> {
        let asked = |p: &Peer| !p.without.iter().any(|figure| figure == target.figure);
        let rival = |p: &&Peer| {
            matches!(p.kind, Kind::Program | Kind::Package | Kind::Floor) && asked(p) && wanted(p)
        };
        results
            .peers
            .iter()
            .filter(rival)
            .map(|p| p.name.clone())
            .collect()
    };
    let is_count = results.is_count(target.figure);
    let beside = |one: &str, other: &str| {
        let ratio = results.ratio(target.figure, one, other);
        let named = Some(one).filter(|one| *one != subject);
        line(target, is_count, ratio, named, Some(other))
    };
    let each = |one: &str, rivals: Vec<String>| -> Vec<Line> {
        rivals.iter().map(|rival| beside(one, rival)).collect()
    };
    match target.against {
        Against::Itself => {
            let value = results.value(target.figure, subject);
            vec![line(target, is_count, value, None, None)]
        }
        Against::LimitOf(name) => {
            let value = results.value(target.figure, name);
            vec![line(target, is_count, value, Some(name), None)]
        }
        Against::Pair(one, other) => vec![beside(one, other)],
        Against::OfTheSubject(name) => vec![beside(name, subject)],
        Against::Peer(name) => vec![beside(subject, name)],
        Against::OfEachBut(one, names) => each(one, rivals(&|p| !names.contains(&p.name.as_str()))),
        Against::EachBut(names) => each(subject, rivals(&|p| !names.contains(&p.name.as_str()))),
        Against::EachOfSameSteps => each(subject, rivals(&|p| p.same_steps)),
        Against::EachThatSplices => each(subject, rivals(&|p| p.splice)),
    }
}

/// `ours` where it isn't the subject, `theirs` where it isn't a limit.
fn line(
    target: &Target,
    is_count: bool,
    ratio: Option<Spread>,
    ours: Option<&str>,
    theirs: Option<&str>,
) -> Line {
    // A table that grows once in a life is no allocation a request: a count is what its two decimals say.
    let exact = |value: f64| match is_count {
        true => (value * 100.0).round() / 100.0,
        false => value,
    };
    let verdict = match (ratio, target.bound) {
        (None, _) => Verdict::Unmeasured,
        (Some(_), None) => Verdict::Shown,
        (Some(spread), Some(_)) if !is_count && spread.count < FEWEST => Verdict::Undecided,
        (Some(spread), Some(bound)) => {
            let holds = |value| bound.holds(exact(value));
            match (holds(spread.low), holds(spread.high)) {
                (true, true) => Verdict::Met,
                (false, false) => Verdict::Missed,
                _ => Verdict::Undecided,
            }
        }
    };
    let words = [
        ours.map(String::from),
        target.bound.map(|bound| bound.to_string()),
        theirs.map(|peer| format!("of {peer}")),
    ];
    Line {
        verdict,
        figure: target.figure,
        source: target.source,
        ratio,
        target: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
        bound: target.bound,
        ours: ours.map(String::from),
        theirs: theirs.map(String::from),
    }
}

/// As in "22 of 36 targets met, 4 missed, 10 undecided". What is only shown is no target, and what was left out is none of this run.
pub fn score(lines: &[Line]) -> String {
    let promised = lines.iter().filter(|line| line.bound.is_some());
    let count = |verdict| promised.clone().filter(|l| l.verdict == verdict).count();
    let (met, missed) = (count(Verdict::Met), count(Verdict::Missed));
    let undecided = count(Verdict::Undecided);
    let (unmeasured, skipped) = (count(Verdict::Unmeasured), count(Verdict::Skipped));
    let mut text = match met + missed + undecided + unmeasured {
        0 => "No targets: the figures are there to be seen".to_string(),
        all => format!("{met} of {all} targets met, {missed} missed, {undecided} undecided"),
    };
    for (count, what) in [(unmeasured, "not measured"), (skipped, "not asked for")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

impl Bound {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(limit) => value <= limit,
            Bound::AtLeast(limit) => value >= limit,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(limit) => write!(f, "<= {limit:.2}"),
            Bound::AtLeast(limit) => write!(f, ">= {limit:.2}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Met => "met",
            Verdict::Shown => "shown",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
            Verdict::Unmeasured => "unmeasured",
            Verdict::Skipped => "skipped",
        })
    }
}

impl fmt::Display for Line {
    /// `verdict  FIGURE  RATIO  TARGET  interval`, in columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ratio, interval) = match self.ratio {
            None => ("-".to_string(), String::new()),
            Some(Spread {
                median, count: 1, ..
            }) => (format!("{median:.3}"), "one sample".to_string()),
            Some(s) => (
                format!("{:.3}", s.median),
                format!("{:.3}..{:.3} of {}", s.low, s.high, s.count),
            ),
        };
        let text = format!(
            "{:<11} {:<24} {:>8}  {:<26} {interval}",
            self.verdict, self.figure, ratio, self.target
        );
        f.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{example, CPU};
    use super::super::results::Figure;
    use super::*;

    /// A count, of which few rounds are enough.
    const F: Figure = Figure {
        unit: "calls",
        ..CPU
    };

    fn target(bound: Bound, against: Against) -> Target {
        super::target("cpu", bound, against)
    }

    fn shown(peer: &'static str) -> Target {
        super::shown("cpu", peer)
    }

    #[test]
    fn an_interval_across_the_bound_is_undecided() {
        let of = |is_count, count, low, high| {
            let ratio = Spread {
                median: 0.98,
                low,
                high,
                count,
            };
            let target = target(Bound::AtMost(1.0), Against::Itself);
            line(&target, is_count, Some(ratio), None, None).verdict
        };
        assert_eq!(of(false, 6, 0.90, 0.999), Verdict::Met);
        assert_eq!(of(false, 12, 0.90, 1.001), Verdict::Undecided);
        assert_eq!(of(false, 12, 1.001, 1.02), Verdict::Missed);
        assert_eq!(of(false, 5, 0.90, 0.95), Verdict::Undecided);
        assert_eq!(of(true, 1, 1.004, 1.004), Verdict::Met);
        assert_eq!(of(true, 1, 1.006, 1.006), Verdict::Missed);
    }

    fn verdicts(targets: &[Target]) -> Vec<(Verdict, String)> {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("old", Kind::Variant, 3.0),
            ("floor", Kind::Floor, 0.8),
            ("again", Kind::Control, 0.8),
            ("them", Kind::Program, 2.0),
        ];
        let lines = judge(targets, &example(&[F], &peers));
        lines.into_iter().map(|l| (l.verdict, l.target)).collect()
    }

    #[test]
    fn a_bound_is_held_at_its_two_decimals() {
        assert!(Bound::AtMost(1.0).holds(1.0));
        assert!(!Bound::AtMost(1.0).holds(1.001));
        assert!(Bound::AtLeast(0.97).holds(0.97));
        assert!(!Bound::AtLeast(0.97).holds(0.969));
        assert!(!Bound::AtMost(1.0).holds(f64::NAN));
    }

    #[test]
    fn one_peer_is_met_missed_or_unmeasured() {
        let lines = verdicts(&[
            target(Bound::AtMost(0.5), Against::Peer("them")),
            target(Bound::AtLeast(0.51), Against::Peer("them")),
            target(Bound::AtMost(1.0), Against::Peer("nobody")),
        ]);
        let found: Vec<Verdict> = lines.iter().map(|l| l.0).collect();
        assert_eq!(found, [Verdict::Met, Verdict::Missed, Verdict::Unmeasured]);
        assert_eq!(lines[0].1, "<= 0.50 of them");
    }

    #[test]
    fn a_run_without_a_newer_figure_is_judged_by_the_older_one() {
        let plain = super::target("cpu-60", Bound::AtMost(1.0), Against::Peer("them"));
        let lines = verdicts(&[plain, plain.or("cpu")]);
        let found: Vec<Verdict> = lines.iter().map(|l| l.0).collect();
        assert_eq!(found, [Verdict::Unmeasured, Verdict::Met]);
    }

    #[test]
    fn rivals_are_neither_variants_nor_controls() {
        let names: Vec<String> =
            verdicts(&[target(Bound::AtMost(1.0), Against::EachBut(&["floor"]))])
                .into_iter()
                .map(|l| l.1)
                .collect();
        assert_eq!(names, ["<= 1.00 of them"]);
        assert_eq!(
            verdicts(&[target(Bound::AtMost(1.0), Against::EachOfSameSteps)]).len(),
            2
        );
    }

    #[test]
    fn what_was_left_out_is_skipped_and_a_peer_without_the_figure_is_no_rival() {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("them", Kind::Program, 2.0),
            ("unable", Kind::Program, 2.0),
        ];
        let mut results = example(&[F], &peers);
        results.peers[2].without = vec!["cpu".to_string()];
        results.left_out.peers = vec!["gone".to_string()];
        results.left_out.figures = vec!["bulk".to_string()];
        let of = |figure, against| super::target(figure, Bound::AtMost(1.0), against);
        let lines = judge(
            &[
                of("cpu", Against::EachBut(&[])),
                of("cpu", Against::OfEachBut("us", &[])),
                of("cpu", Against::Peer("gone")),
                of("bulk", Against::Peer("them")),
                of("cpu", Against::Peer("nobody")),
            ],
            &results,
        );
        let found: Vec<_> = lines
            .iter()
            .map(|l| (l.verdict, l.target.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (Verdict::Met, "<= 1.00 of them"),
                (Verdict::Met, "<= 1.00 of them"),
                (Verdict::Skipped, "<= 1.00 of gone"),
                (Verdict::Skipped, "<= 1.00 of them"),
                (Verdict::Unmeasured, "<= 1.00 of nobody"),
            ]
        );
    }

    #[test]
    fn a_limit_of_its_own_and_a_row_to_show() {
        let lines = verdicts(&[
            target(Bound::AtMost(3.0), Against::Itself),
            shown("old"),
            shown("none"),
            target(Bound::AtMost(9.0), Against::LimitOf("old")),
            target(Bound::AtMost(2.0), Against::LimitOf("old")),
            target(Bound::AtMost(5.0), Against::LimitOf("none")),
        ]);
        assert_eq!(lines[0], (Verdict::Met, "<= 3.00".to_string()));
        assert_eq!(lines[1], (Verdict::Shown, "old of us".to_string()));
        assert_eq!(lines[2].0, Verdict::Unmeasured);
        assert_eq!(lines[3], (Verdict::Met, "old <= 9.00".to_string()));
        assert_eq!(lines[4].0, Verdict::Missed);
        assert_eq!(lines[5].0, Verdict::Unmeasured);
    }

    #[test]
    fn a_score_counts_what_is_promised() {
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&[F], &peers);
        results.left_out.peers = vec!["gone".to_string()];
        let told = |targets: &[Target], results: &Results| score(&judge(targets, results));
        let text = told(&[shown("them"), shown("gone")], &results);
        assert_eq!(text, "No targets: the figures are there to be seen");
        let peer = |name| target(Bound::AtMost(0.4), Against::Peer(name));
        let all = [
            peer("them"),
            peer("gone"),
            peer("nobody"),
            shown("them"),
            shown("nobody"),
        ];
        assert_eq!(
            told(&all, &results),
            "0 of 2 targets met, 1 missed, 0 undecided, 1 not measured, 1 not asked for"
        );
    }

    #[test]
    fn lines_stand_in_columns() {
        let spread = Spread {
            median: 0.98123,
            low: 0.97,
            high: 0.99,
            count: 15,
        };
        let line = Line {
            verdict: Verdict::Met,
            figure: "cpu",
            source: "",
            ratio: Some(spread),
            target: "<= 1.00 of tokio".to_string(),
            bound: Some(Bound::AtMost(1.0)),
            ours: None,
            theirs: Some("tokio".to_string()),
        };
        let words: Vec<String> = line
            .to_string()
            .split_whitespace()
            .map(String::from)
            .collect();
        assert_eq!(
            words,
            [
                "met",
                "cpu",
                "0.981",
                "<=",
                "1.00",
                "of",
                "tokio",
                "0.970..0.990",
                "of",
                "15"
            ]
        );
        let absent = Line {
            ratio: None,
            verdict: Verdict::Unmeasured,
            ..line
        };
        assert!(absent.to_string().starts_with("unmeasured  cpu"));
    }
}
