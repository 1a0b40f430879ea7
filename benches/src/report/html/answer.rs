//! The answer of a rig: how many targets are met, a line for each figure that has any, and each target by itself.

use std::fmt::Write;

use super::super::difference::Difference;
use super::super::markdown::number;
use super::super::plot::escape;
use super::super::results::{Figure, Results};
use super::super::stats::Spread;
use super::super::targets::{Bound, Line, Verdict};
use super::{strip, verdict_class};

/// As in "29 of 36 targets met, 7 missed".
pub fn score(lines: &[Line]) -> String {
    let count = |verdict| lines.iter().filter(|l| l.verdict == verdict).count();
    let mut text = format!(
        "{} of {} targets met, {} missed",
        count(Verdict::Met),
        lines.len(),
        count(Verdict::Missed)
    );
    if count(Verdict::Unmeasured) > 0 {
        let _ = write!(text, ", {} not measured", count(Verdict::Unmeasured));
    }
    text
}

/// A line for each figure with a target: the subject's value, and the rival that comes nearest to breaking one.
pub fn short(page: &mut String, results: &Results, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<p class=\"score\"><b>{}</b>{}.</p>\n<ul class=\"short\">",
        score(lines),
        unsure(lines)
    );
    for (figure, lines) in by_figure(results, lines) {
        let met = lines.iter().filter(|l| l.verdict == Verdict::Met).count();
        let class = match lines.iter().map(|l| l.verdict).collect::<Vec<_>>() {
            all if all.contains(&Verdict::Missed) => "missed",
            all if all.contains(&Verdict::Met) => "met",
            _ => "unmeasured",
        };
        let verdict = match class {
            "met" => "✓ met".to_string(),
            "missed" if met == 0 => "✗ missed".to_string(),
            "missed" => format!("✗ {} of {} met", met, lines.len()),
            _ => "– not measured".to_string(),
        };
        let _ = writeln!(
            page,
            "<li><span class=\"verdict {class}\">{verdict}</span> <b>{}</b>{}{}</li>",
            escape(figure.title),
            ours(results, &figure).map_or(String::new(), |v| format!(": {v}")),
            tightest(&lines).map_or(String::new(), |line| against(results, &figure, line))
        );
    }
    page.push_str("</ul>\n");
}

/// How many of the verdicts another run might turn round.
fn unsure(lines: &[Line]) -> String {
    match lines.iter().filter(|l| is_open(l)).count() {
        0 => String::new(),
        1 => "; the interval of one holds its target: another run may turn it".to_string(),
        n => format!("; the intervals of {n} hold their targets: another run may turn these"),
    }
}

/// Whether the target lies inside the interval of what was measured.
fn is_open(line: &Line) -> bool {
    match (line.ratio, line.bound) {
        (Some(s), Some(bound)) => s.count > 1 && bound.holds(s.low) != bound.holds(s.high),
        _ => false,
    }
}

/// The figures that have lines, in the order of the lines.
fn by_figure<'a>(results: &Results, lines: &'a [Line]) -> Vec<(Figure, Vec<&'a Line>)> {
    let mut groups: Vec<(Figure, Vec<&Line>)> = Vec::new();
    for line in lines {
        let known = groups.iter_mut().find(|(f, _)| f.name == line.figure);
        if let Some((_, group)) = known {
            group.push(line);
        } else if let Some(figure) = results.figures.iter().find(|f| f.name == line.figure) {
            groups.push((*figure, vec![line]));
        }
    }
    groups
}

fn ours(results: &Results, figure: &Figure) -> Option<String> {
    let subject = results.subject()?;
    let value = results.spread(figure.name, &subject.name)?.median;
    Some(format!(
        "{} {} {}",
        escape(&subject.name),
        number(value),
        escape(figure.unit)
    ))
}

/// The measured line that is farthest on the wrong side of its bound, or nearest to it.
fn tightest<'a>(lines: &[&'a Line]) -> Option<&'a Line> {
    let margin = |line: &Line| match (line.ratio, line.bound) {
        (Some(s), Some(Bound::AtMost(limit))) => Some(limit / s.median),
        (Some(s), Some(Bound::AtLeast(limit))) => Some(s.median / limit),
        _ => None,
    };
    let measured = lines.iter().filter_map(|line| Some((margin(line)?, *line)));
    measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|m| m.1)
}

fn against(results: &Results, figure: &Figure, line: &Line) -> String {
    let (Some(ratio), Some(theirs)) = (line.ratio, &line.theirs) else {
        return format!(", target {}", target(line));
    };
    let theirs = escape(theirs);
    let said = match results.difference(figure, ratio) {
        Difference::None => format!("no difference that this machine can tell from {theirs}"),
        Difference::Better => format!("better than {theirs}"),
        Difference::Worse => format!("worse than {theirs}"),
    };
    // Where the sides are not the subject and a rival, the line must say who they are.
    let pair = match &line.ours {
        Some(ours) => format!("{} is ", escape(ours)),
        None => String::new(),
    };
    format!(
        "; {pair}{said}: {}, target {}",
        with_interval(ratio),
        target(line)
    )
}

fn with_interval(s: Spread) -> String {
    match s.count {
        1 => format!("{} (one sample)", number(s.median)),
        _ => format!(
            "{} ({}–{})",
            number(s.median),
            number(s.low),
            number(s.high)
        ),
    }
}

fn target(line: &Line) -> String {
    match line.bound {
        Some(Bound::AtMost(limit)) => format!("≤&nbsp;{limit:.2}"),
        Some(Bound::AtLeast(limit)) => format!("≥&nbsp;{limit:.2}"),
        None => "shown".to_string(),
    }
}

/// Every target, with its ratio drawn.
pub fn targets(page: &mut String, results: &Results, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<h3>Targets</h3>\n<p>The point is the ratio, the bar its interval, <span class=\"flag\">▼</span> the target; right \
         is better for us, the line in the middle is equality. Logarithmic, from a {0:.0}th to {0:.0} times as good; an \
         arrow is beyond.</p>\n<div class=\"wide\"><table class=\"targets\">\n\
         <tr><th>figure<th class=\"number\">ours<th>against<th class=\"number\">ratio<th class=\"number\">target\
         <th>worse ← &nbsp; → better<th>verdict</tr>",
        strip::MOST
    );
    for (figure, lines) in by_figure(results, lines) {
        for (index, line) in lines.iter().enumerate() {
            let _ = write!(
                page,
                "<tr{}>",
                if index == 0 { " class=\"first\"" } else { "" }
            );
            if index == 0 {
                let _ = write!(
                    page,
                    "<th scope=\"rowgroup\" rowspan=\"{0}\">{1}<td rowspan=\"{0}\" class=\"number\">{2}",
                    lines.len(),
                    escape(figure.title),
                    ours(results, &figure).unwrap_or("–".to_string())
                );
            }
            row(page, results, &figure, line);
        }
    }
    page.push_str("</table></div>\n");
}

fn row(page: &mut String, results: &Results, figure: &Figure, line: &Line) {
    let against = match (&line.ours, &line.theirs) {
        (Some(ours), Some(theirs)) => format!("{} of {}", escape(ours), escape(theirs)),
        (None, Some(theirs)) => escape(theirs),
        (_, None) => "a limit".to_string(),
    };
    let drawn = match (line.ratio, &line.theirs) {
        (Some(ratio), Some(_)) => strip::draw(
            ratio,
            line.bound,
            figure.less_is_better,
            results.difference(figure, ratio),
        ),
        _ => String::new(),
    };
    let verdict = match line.verdict {
        Verdict::Met if line.bound.is_none() => "✓ shown",
        Verdict::Met => "✓ met",
        Verdict::Missed => "✗ missed",
        Verdict::Unmeasured => "– not measured",
    };
    let open = if is_open(line) {
        " <small>the interval holds the target</small>"
    } else {
        ""
    };
    let _ = writeln!(
        page,
        "<td>{against}<td class=\"number\">{}<td class=\"number\">{}<td>{drawn}<td class=\"verdict {}\">{verdict}{open}</tr>",
        line.ratio.map_or("–".to_string(), with_interval),
        target(line),
        verdict_class(line.verdict)
    );
}

#[cfg(test)]
mod tests {
    use super::super::super::results::{figure, tests::example};
    use super::super::super::targets::{judge, target, Against};
    use super::*;
    use crate::peers::Kind;

    const CPU: Figure = figure("cpu", "µs", "CPU", true);

    fn run(targets: &[super::super::super::targets::Target]) -> (Results, Vec<Line>) {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("slow", Kind::Program, 2.0),
            ("fast", Kind::Program, 0.5),
        ];
        let results = example(&[CPU], &peers);
        let lines = judge(targets, &results);
        (results, lines)
    }

    #[test]
    fn a_figures_line_tells_of_the_rival_that_is_hardest() {
        let (results, lines) = run(&[target("cpu", Bound::AtMost(1.0), Against::EachBut(&[]))]);
        let mut page = String::new();
        short(&mut page, &results, &lines);
        assert!(page.contains("us 2.00 µs"), "{page}");
        assert!(page.contains("worse than fast: 2.00"), "{page}");
        assert!(!page.contains("slow"), "{page}");
        assert!(page.contains("✗ 1 of 2 met"), "{page}");
    }

    #[test]
    fn a_pair_that_is_not_the_subject_is_named() {
        let pair = Against::Pair("fast", "slow");
        let (results, lines) = run(&[target("cpu", Bound::AtMost(1.0), pair)]);
        let mut page = String::new();
        short(&mut page, &results, &lines);
        targets(&mut page, &results, &lines);
        assert!(page.contains("fast is better than slow: 0.25"), "{page}");
        assert!(page.contains("<td>fast of slow"), "{page}");
    }

    #[test]
    fn a_limit_of_its_own_is_no_ratio_and_has_no_strip() {
        let (results, lines) = run(&[target("cpu", Bound::AtMost(3.0), Against::Itself)]);
        let mut page = String::new();
        targets(&mut page, &results, &lines);
        assert!(page.contains("a limit") && !page.contains("<svg"), "{page}");
    }

    #[test]
    fn a_target_inside_the_interval_is_open() {
        let (_, lines) = run(&[target("cpu", Bound::AtMost(0.5), Against::Peer("slow"))]);
        let with = |low, high| Line {
            ratio: lines[0].ratio.map(|s| Spread { low, high, ..s }),
            ..lines[0].clone()
        };
        assert!(is_open(&with(0.45, 0.55)));
        assert!(!is_open(&with(0.45, 0.50)));
        assert!(!is_open(&with(0.51, 0.55)));
        assert!(unsure(&[with(0.45, 0.55), with(0.4, 0.6)]).contains("of 2"));
    }
}
