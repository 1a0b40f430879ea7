//! The answer of a rig: how many targets are met, a line for each figure that has any, and each target by itself.

use std::fmt::Write;

use super::super::markdown::number;
use super::super::plot::escape;
use super::super::results::{Figure, Results};
use super::super::stats::Spread;
use super::super::targets::{score, Bound, Line, Verdict};
use super::{sign, strip, verdict_class};

/// A line for each figure with a target: the subject's value, and how it stands to each rival.
pub fn short(page: &mut String, results: &Results, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<p class=\"score\"><b>{}</b>{}.</p>\n<ul class=\"short\">",
        score(lines),
        open(lines)
    );
    for (figure, lines) in by_figure(results, lines) {
        let count = |verdict| lines.iter().filter(|l| l.verdict == verdict).count();
        let (met, missed) = (count(Verdict::Met), count(Verdict::Missed));
        let (class, verdict) = match (met, missed) {
            (0, 0) if count(Verdict::Shown) > 0 => ("unmeasured", "shown".to_string()),
            (0, 0) if count(Verdict::Skipped) == lines.len() => continue,
            (0, 0) => ("unmeasured", "– not measured".to_string()),
            (_, 0) => ("met", "✓ met".to_string()),
            (0, _) => ("missed", "✗ missed".to_string()),
            _ => ("missed", format!("✗ {missed} of {} missed", met + missed)),
        };
        let mut said: Vec<String> = ours(results, &figure)
            .map(|value| format!("<b>{value}</b>"))
            .into_iter()
            .collect();
        let measured = lines.iter().filter(|l| l.ratio.is_some());
        said.extend(measured.map(|line| beside(results, &figure, line)));
        let colon = if said.is_empty() { "" } else { ": " };
        let _ = writeln!(
            page,
            "<li><span class=\"verdict {class}\">{verdict}</span> {}{colon}{}</li>",
            escape(figure.title),
            said.join("; ")
        );
    }
    page.push_str("</ul>\n");
}

/// One rival, as in "≈ 0.98 of tokio (0.95–1.02)", with the target where it was missed.
fn beside(results: &Results, figure: &Figure, line: &Line) -> String {
    let missed = match line.verdict {
        Verdict::Missed => format!(" <span class=\"verdict missed\">✗ {}</span>", target(line)),
        _ => String::new(),
    };
    let (Some(ratio), Some(theirs)) = (line.ratio, &line.theirs) else {
        return limit(figure, line, &missed);
    };
    let (class, sign) = sign(results.difference(&seen_by_us(results, figure, line), ratio));
    let (ours, theirs) = match &line.ours {
        Some(ours) => (format!("{} ", escape(ours)), escape(theirs)),
        None => (String::new(), escape(theirs)),
    };
    let interval = match ratio.count {
        1 => String::new(),
        _ => format!(
            " <small>({}–{})</small>",
            number(ratio.low),
            number(ratio.high)
        ),
    };
    format!(
        "<span class=\"part\">{ours}<span class=\"{class}\">{sign}&nbsp;{}</span> of {theirs}{interval}{missed}</span>",
        number(ratio.median)
    )
}

/// A value that is held against a limit: the subject's own is told already, another's needs its name.
fn limit(figure: &Figure, line: &Line, missed: &str) -> String {
    match (&line.ours, line.ratio) {
        (Some(ours), Some(value)) => format!(
            "<span class=\"part\">{} <b>{} {}</b> (target {}){missed}</span>",
            escape(ours),
            number(value.median),
            escape(figure.unit),
            target(line)
        ),
        _ => format!("the target is {}{missed}", target(line)),
    }
}

/// The figure of a line as it is from our side: where the ratio is another's to ours, more of it is better for us where
/// less is better for itself.
fn seen_by_us(results: &Results, figure: &Figure, line: &Line) -> Figure {
    let subject = results.subject().map(|subject| &subject.name);
    let turned = line.ours.is_some() && line.theirs.as_ref() == subject;
    Figure {
        less_is_better: figure.less_is_better != turned,
        ..*figure
    }
}

/// How many of the verdicts another run might turn round.
fn open(lines: &[Line]) -> String {
    match lines.iter().filter(|l| is_open(l)).count() {
        0 => String::new(),
        n => format!(
            "; {n} of these verdicts {} open: the interval holds the target, and another run may turn it",
            if n == 1 { "is" } else { "are" }
        ),
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
    Some(format!("{} {}", number(value), escape(figure.unit)))
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
        "<h3>Targets</h3>\n<p>The point is the ratio, the line through it its interval, <span class=\"flag\">▼</span> the \
         target. Right is better for us, in the middle both are equal. The scale is logarithmic, from a {0:.0}rd to {0:.0} \
         times as good; an arrow is beyond. <small>open</small>: the interval holds the target.</p>\n<div class=\"wide\"><table class=\"targets\">\n\
         <tr><th>figure<th class=\"number\">ours<th>against<th class=\"number\">ratio<th class=\"number\">target\
         <th class=\"strip\">worse ← &nbsp; → better<th>verdict</tr>",
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
        (Some(ours), None) => format!("{}, a limit", escape(ours)),
        (None, None) => "a limit".to_string(),
    };
    let seen = seen_by_us(results, figure, line);
    let drawn = match (line.ratio, &line.theirs) {
        (Some(ratio), Some(_)) => strip::draw(
            ratio,
            line.bound,
            seen.less_is_better,
            results.difference(&seen, ratio),
        ),
        _ => String::new(),
    };
    let verdict = match line.verdict {
        Verdict::Shown => "shown",
        Verdict::Met => "✓ met",
        Verdict::Missed => "✗ missed",
        Verdict::Unmeasured => "– not measured",
        Verdict::Skipped => "not asked for",
    };
    let open = if is_open(line) {
        " <small>open</small>"
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
    fn a_figures_line_tells_of_each_rival_and_of_the_target_that_is_missed() {
        let (results, lines) = run(&[target("cpu", Bound::AtMost(1.0), Against::EachBut(&[]))]);
        let mut page = String::new();
        short(&mut page, &results, &lines);
        assert!(page.contains("✗ 1 of 2 missed"), "{page}");
        assert!(page.contains("<b>2.00 µs</b>"), "{page}");
        assert!(page.contains("▼&nbsp;2.00</span> of fast"), "{page}");
        assert!(page.contains("▲&nbsp;0.50</span> of slow"), "{page}");
        assert_eq!(page.matches("✗ ≤&nbsp;1.00").count(), 1, "{page}");
    }

    #[test]
    fn a_ratio_of_another_to_us_is_seen_from_our_side() {
        let pair = Against::Pair("slow", "us");
        let (results, lines) = run(&[target("cpu", Bound::AtLeast(1.5), pair)]);
        let mut page = String::new();
        short(&mut page, &results, &lines);
        assert!(
            page.contains("slow <span class=\"better\">▲&nbsp;2.00</span> of us"),
            "{page}"
        );
    }

    #[test]
    fn a_pair_that_is_not_the_subject_is_named() {
        let pair = Against::Pair("fast", "slow");
        let (results, lines) = run(&[target("cpu", Bound::AtMost(1.0), pair)]);
        let mut page = String::new();
        short(&mut page, &results, &lines);
        targets(&mut page, &results, &lines);
        assert!(
            page.contains("fast <span class=\"better\">▲&nbsp;0.25</span> of slow"),
            "{page}"
        );
        assert!(page.contains("<td>fast of slow"), "{page}");
    }

    #[test]
    fn a_limit_of_another_names_it_and_its_value() {
        let limit = Against::LimitOf("slow");
        let (results, lines) = run(&[target("cpu", Bound::AtMost(3.0), limit)]);
        let (mut page, mut table) = (String::new(), String::new());
        short(&mut page, &results, &lines);
        targets(&mut table, &results, &lines);
        assert!(
            page.contains("slow <b>4.00 µs</b> (target ≤&nbsp;3.00)"),
            "{page}"
        );
        assert!(table.contains("<td>slow, a limit"), "{table}");
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
        assert!(open(&[with(0.45, 0.55), with(0.4, 0.6)]).contains("2 of these verdicts are open"));
    }
}
