//! Holds a run against its rig's targets.

use crate::model::{Beside, Kind, Line, Peer, Results, Target, Verdict};

/// Fewer rounds have no interval of 95 %. A count doesn't vary, and one is enough.
const FEWEST: usize = 6;

/// One line for each target and rival.
pub fn judge(targets: &[Target], results: &Results) -> Vec<Line> {
    let Some(subject) = results.subject() else {
        return Vec::new();
    };
    let subject = subject.name.as_str();
    let figures = targets
        .iter()
        .flat_map(|t| t.figures().map(move |figure| (t, figure)));
    let lines = figures.flat_map(|(target, figure)| {
        // A run whose rig didn't have the figure yet is judged by an older one.
        let before = target.before.filter(|_| results.figure(figure).is_none());
        let figure = before.unwrap_or(figure);
        let theirs = theirs(target, figure, subject, results).into_iter();
        theirs.map(move |theirs| line(target, figure, subject, theirs, results))
    });
    lines.collect()
}

/// What the target's figure is divided by, nothing where it is held against a limit.
fn theirs<'a>(
    target: &Target,
    figure: &str,
    subject: &'a str,
    results: &'a Results,
) -> Vec<Option<&'a str>> {
    let is_rival = |peer: &&Peer| {
        let is_compared = matches!(peer.kind, Kind::Program | Kind::Package | Kind::Floor);
        let is_wanted = match target.beside {
            Beside::EachBut(others) => !others.contains(&peer.name.as_str()),
            Beside::EachOfSameSteps => peer.same_steps,
            Beside::EachThatSplices => peer.splice,
            _ => false,
        };
        is_compared && is_wanted && peer.gives(figure)
    };
    match target.beside {
        Beside::Limit => vec![None],
        Beside::Subject => vec![Some(subject)],
        Beside::Peer(name) => vec![Some(name)],
        _ => {
            let rivals = results.peers.iter().filter(is_rival);
            rivals.map(|peer| Some(peer.name.as_str())).collect()
        }
    }
}

fn line(
    target: &Target,
    figure: &'static str,
    subject: &str,
    theirs: Option<&str>,
    results: &Results,
) -> Line {
    let ours = target.ours.unwrap_or(subject);
    let ratio = match theirs {
        Some(theirs) => results.ratio(figure, ours, theirs),
        None => results.value(figure, ours),
    };
    let is_count = results.figure(figure).is_some_and(|f| f.is_count());
    // A table that grows once in a life is no allocation a request: a count is what its two decimals say.
    let exact = |value: f64| match is_count {
        true => (value * 100.0).round() / 100.0,
        false => value,
    };
    let left = &results.left_out;
    let is_left = |side: &str| left.peers.iter().any(|peer| peer == side);
    let verdict = match (ratio, target.bound) {
        (None, _) if left.figures.iter().any(|f| f == figure) => Verdict::Skipped,
        (None, _) if is_left(ours) || theirs.is_some_and(is_left) => Verdict::Skipped,
        (None, _) => Verdict::Unmeasured,
        (Some(_), None) => Verdict::Shown,
        (Some(spread), Some(_)) if !is_count && spread.count < FEWEST => Verdict::Undecided,
        (Some(spread), Some(bound)) => {
            match [spread.low, spread.high].map(|value| bound.holds(exact(value))) {
                [true, true] => Verdict::Met,
                [false, false] => Verdict::Missed,
                _ => Verdict::Undecided,
            }
        }
    };
    Line {
        verdict,
        figure,
        source: target.source,
        ratio,
        bound: target.bound,
        ours: target
            .ours
            .filter(|name| *name != subject)
            .map(String::from),
        theirs: theirs.map(String::from),
    }
}

/// As in "22 of 36 targets met, 4 missed, 10 undecided". What is only shown is no target, and what was left out is none of
/// this run.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::{example, CPU};
    use crate::model::{less, shown, target, Bound};
    use Bound::{AtLeast, AtMost};

    const ALL: Beside = Beside::EachBut(&["floor"]);

    fn beside(bound: Bound, beside: Beside) -> Target {
        target("count", bound, beside)
    }

    fn of(peer: &'static str) -> Beside {
        Beside::Peer(peer)
    }

    /// As the command line narrowed it.
    fn run() -> Results {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("old", Kind::Variant, 3.0),
            ("floor", Kind::Floor, 0.8),
            ("again", Kind::Control, 0.8),
            ("them", Kind::Program, 2.0),
            ("unable", Kind::Program, 2.0),
        ];
        // Of a count few rounds are enough.
        let mut results = example(&[less("count", "calls", "count"), CPU], &peers);
        results.peers[5].without = vec!["count".to_string()];
        results.left_out.peers = vec!["gone".to_string()];
        results.left_out.figures = vec!["bulk".to_string()];
        results
    }

    #[test]
    fn each_target_is_met_missed_or_without_a_sample() {
        for (target, wanted) in [
            (beside(AtMost(0.5), of("them")), "Met <= 0.50 of them"),
            (beside(AtLeast(0.51), of("them")), "Missed >= 0.51 of them"),
            (
                beside(AtMost(1.0), of("nobody")),
                "Unmeasured <= 1.00 of nobody",
            ),
            (beside(AtMost(1.0), of("gone")), "Skipped <= 1.00 of gone"),
            (
                target("bulk", AtMost(1.0), of("them")),
                "Skipped <= 1.00 of them",
            ),
            // Of few rounds that vary.
            (
                target("cpu", AtMost(1.0), of("them")),
                "Undecided <= 1.00 of them",
            ),
            // Rivals are neither variants nor controls, nor what can't give the figure.
            (beside(AtMost(1.0), ALL), "Met <= 1.00 of them"),
            (beside(AtMost(1.0), ALL).of("us"), "Met <= 1.00 of them"),
            (
                beside(AtMost(1.0), ALL).of("old"),
                "Missed old <= 1.00 of them",
            ),
            (beside(AtMost(3.0), Beside::Limit), "Met <= 3.00"),
            (
                beside(AtMost(9.0), Beside::Limit).of("old"),
                "Met old <= 9.00",
            ),
            (
                beside(AtMost(2.0), Beside::Limit).of("old"),
                "Missed old <= 2.00",
            ),
            (
                beside(AtMost(2.0), Beside::Limit).of("none"),
                "Unmeasured none <= 2.00",
            ),
            (shown("count", "old"), "Shown old of us"),
            (shown("count", "none"), "Unmeasured none of us"),
            // The newer figure is none of the run's rig.
            (
                target("newer", AtMost(0.5), of("them")).or("count"),
                "Met <= 0.50 of them",
            ),
            (
                target("newer", AtMost(0.5), of("them")),
                "Unmeasured <= 0.50 of them",
            ),
        ] {
            let lines = judge(&[target], &run());
            let said: Vec<String> = lines
                .iter()
                .map(|l| format!("{:?} {}", l.verdict, l.target()))
                .collect();
            assert_eq!(said, [wanted], "{target:?}");
        }
        let same_steps = beside(AtMost(1.0), Beside::EachOfSameSteps);
        assert_eq!(judge(&[same_steps], &run()).len(), 2);
    }

    #[test]
    fn an_interval_across_the_bound_is_undecided() {
        let of = |unit, rounds: &[f64]| {
            let mut results = example(&[less("cpu", unit, "")], &[("us", Kind::Subject, 0.0)]);
            results.samples.clear();
            for (round, value) in rounds.iter().enumerate() {
                results.add("us", round, &[("cpu", *value)]);
            }
            judge(&[target("cpu", AtMost(1.0), Beside::Limit)], &results)[0].verdict
        };
        assert_eq!(of("µs", &[0.9, 0.9, 0.9, 0.9, 0.9, 0.999]), Verdict::Met);
        assert_eq!(
            of("µs", &[0.9, 0.9, 0.9, 0.9, 0.9, 1.001]),
            Verdict::Undecided
        );
        assert_eq!(of("µs", &[1.001; 12]), Verdict::Missed);
        assert_eq!(of("µs", &[0.9; 5]), Verdict::Undecided);
        assert_eq!(of("calls", &[1.004]), Verdict::Met);
        assert_eq!(of("calls", &[1.006]), Verdict::Missed);
        assert!(!AtMost(1.0).holds(f64::NAN));
    }

    #[test]
    fn a_score_counts_what_is_promised() {
        let told = |targets: &[Target]| score(&judge(targets, &run()));
        let text = told(&[shown("count", "them"), shown("count", "gone")]);
        assert_eq!(text, "No targets: the figures are there to be seen");
        let [them, gone, nobody] =
            ["them", "gone", "nobody"].map(|peer| beside(AtMost(0.4), of(peer)));
        assert_eq!(
            told(&[
                them,
                gone,
                nobody,
                shown("count", "them"),
                shown("count", "nobody")
            ]),
            "0 of 2 targets met, 1 missed, 0 undecided, 1 not measured, 1 not asked for"
        );
    }
}
