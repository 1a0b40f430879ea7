//! The report as Markdown: who was compared, every figure, every ratio, every target, what was missing.

use std::fmt::Write;

use super::articles;
use super::headline::headline;
use super::results::{Figure, Part, Results};
use super::stats::Spread;
use super::targets::{score, Line};
use crate::peers::Kind;

/// Dearest parts that are printed for each peer.
const PARTS: usize = 5;
/// Rows of the comparison with the floor.
const ROWS: usize = 15;

pub fn render(results: &Results, lines: &[Line]) -> String {
    let mut text = String::new();
    head(&mut text, results);
    peers(&mut text, results);
    figures(&mut text, results);
    ratios(&mut text, results);
    targets(&mut text, lines);
    articles::markdown(&mut text, results);
    for &figure in results.parts.keys() {
        parts(&mut text, results, figure);
    }
    floor(&mut text, results);
    notes(&mut text, results);
    text
}

fn head(text: &mut String, results: &Results) {
    let machine = &results.machine;
    let _ = writeln!(
        text,
        "# {}, {}\n\n{}\n",
        results.title(),
        results.date,
        results.question
    );
    if let Some(headline) = headline(results) {
        let _ = writeln!(text, "{headline}\n");
    }
    if let Some(reason) = results.reason() {
        let _ = writeln!(text, "{reason}\n");
    }
    for (what, more) in results.warnings() {
        let _ = writeln!(text, "**{what}**{more}\n");
    }
    let pinned = match machine.pinned {
        Some(cores) => format!(
            "the peer on core {}, the load on core {}",
            cores.peer, cores.load
        ),
        None => "not pinned: the kernel or the machine doesn't allow it".to_string(),
    };
    let _ = writeln!(
        text,
        "{}, {} cores, {}, {} descriptors a process; {pinned}{}. `METHODOLOGY.md` says how each figure is taken.\n",
        machine.cpu,
        machine.cores,
        machine.kernel,
        machine.descriptors,
        results.load()
    );
    let built = [("", &results.rustc), ("commit ", &results.commit)];
    let built: Vec<String> = built
        .iter()
        .filter_map(|(what, text)| Some(format!("{what}{}", text.as_ref()?)))
        .collect();
    if !built.is_empty() {
        let _ = writeln!(text, "Built with {}.\n", built.join(" from "));
    }
}

fn peers(text: &mut String, results: &Results) {
    // Only relays are told apart by these two.
    let relays = results.peers.iter().any(|p| p.same_steps);
    text.push_str("## Peers\n\n");
    text.push_str(if relays {
        "| peer | what | version | splice | same steps | start |\n|---|---|---|---|---|---|\n"
    } else {
        "| peer | what | version | start |\n|---|---|---|---|\n"
    });
    let yes = |flag| if flag { "yes" } else { "no" };
    for p in &results.peers {
        let version = match (&p.version, &p.missing) {
            (Some(version), _) => version.clone(),
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or("not found");
                format!("**missing**: {reason}; `{}`", p.install)
            }
        };
        let _ = write!(text, "| {} | {} | {version} |", p.label(), p.about);
        if relays {
            let _ = write!(text, " {} | {} |", yes(p.splice), yes(p.same_steps));
        }
        let _ = writeln!(text, " `{}` |", p.start);
    }
    text.push('\n');
}

fn figures(text: &mut String, results: &Results) {
    text.push_str("## Figures\n\nMedians, with the quartiles where there are several samples.\n\n");
    table(text, results, true, |figure, peer| {
        results
            .spread(figure.name, peer)
            .map(|s| with_range(s, "–"))
    });
}

fn ratios(text: &mut String, results: &Results) {
    let Some(subject) = results.subject() else {
        return;
    };
    let _ = writeln!(
        text,
        "## {} in relation to each peer\n\nMedians of the ratios of each round, with the 95 % interval of that median. \
         Below 1 is better for us, except in figures marked ↑.\n",
        subject.name
    );
    if let Some((name, again)) = results
        .peers
        .iter()
        .find_map(|p| Some((&p.name, p.again.as_ref()?)))
    {
        let _ = writeln!(
            text,
            "The column {name} is the control: {again} measured twice, the one in relation to the other. \
             A difference that is smaller than the control's is none.\n"
        );
    }
    table(text, results, false, |figure, peer| {
        let ratio = match results.peer(peer).and_then(|p| p.again.as_ref()) {
            Some(again) => results.ratio(figure.name, peer, again),
            None => results.ratio(figure.name, &subject.name, peer),
        };
        ratio.map(|s| with_range(s, "–"))
    });
}

/// A row for each figure and a column for each peer that have a cell.
fn table(
    text: &mut String,
    results: &Results,
    subject_too: bool,
    cell: impl Fn(&Figure, &str) -> Option<String>,
) {
    let figures = results.measured();
    let there = results.peers.iter().filter(|p| {
        (subject_too || p.kind != Kind::Subject)
            && figures.iter().any(|f| cell(f, &p.name).is_some())
    });
    let labels: Vec<String> = there.clone().map(|p| p.label()).collect();
    let peers: Vec<&str> = there.map(|p| p.name.as_str()).collect();
    let _ = writeln!(
        text,
        "| figure | {} |\n|---{}|",
        labels.join(" | "),
        "|--:".repeat(peers.len())
    );
    for figure in &figures {
        let arrow = if figure.less_is_better { "" } else { " ↑" };
        let cells: Vec<Option<String>> = peers.iter().map(|peer| cell(figure, peer)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let cells: Vec<String> = cells
            .into_iter()
            .map(|cell| cell.unwrap_or_else(|| "–".to_string()))
            .collect();
        let _ = writeln!(
            text,
            "| {}, {}{arrow} | {} |",
            figure.title,
            figure.unit,
            cells.join(" | ")
        );
    }
    text.push('\n');
}

fn with_range(spread: Spread, dash: &str) -> String {
    if spread.count == 1 {
        return number(spread.median);
    }
    format!(
        "{} ({}{dash}{})",
        number(spread.median),
        number(spread.low),
        number(spread.high)
    )
}

/// Three significant digits, and thousands as they are.
pub fn number(value: f64) -> String {
    match value.abs() {
        a if a >= 100.0 => format!("{value:.0}"),
        a if a >= 10.0 => format!("{value:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn targets(text: &mut String, lines: &[Line]) {
    let _ = writeln!(text, "## Targets\n\n{}.\n\n```text", score(lines));
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text.push_str("```\n\n");
}

fn parts(text: &mut String, results: &Results, figure: &str) {
    let Some(by_peer) = results.parts.get(figure) else {
        return;
    };
    let column = results.figures.iter().find(|f| f.name == figure);
    let title = match (figure, column) {
        ("calls", _) => "system calls per message",
        (_, Some(column)) => column.title,
        (other, None) => other,
    };
    let _ = writeln!(text, "## The dearest parts: {title}\n");
    for peer in &results.peers {
        if let Some(parts) = by_peer.get(&peer.name) {
            let cells: Vec<String> = parts
                .iter()
                .take(PARTS)
                .map(|p| format!("`{}` {}", p.name, number(p.value)))
                .collect();
            let _ = writeln!(text, "- {}: {}", peer.name, cells.join(", "));
        }
    }
    text.push('\n');
}

/// Where the subject's instructions go that the floor doesn't need.
fn floor(text: &mut String, results: &Results) {
    let Some((ours, least)) = sides(results) else {
        return;
    };
    text.push_str(
        "## The distance to the floor, function by function\n\nUser instructions per request. ",
    );
    let sum = |parts: &[Part]| parts.iter().map(|p| p.value).sum::<f64>();
    let _ = writeln!(
        text,
        "The parts shown sum up to {} and {}.\n\n| subject | | floor | |\n|---|--:|---|--:|",
        number(sum(&ours)),
        number(sum(&least))
    );
    for row in 0..ours.len().max(least.len()) {
        let cell = |parts: &[Part]| match parts.get(row) {
            Some(p) => format!("`{}` | {}", p.name, number(p.value)),
            None => " | ".to_string(),
        };
        let _ = writeln!(text, "| {} | {} |", cell(&ours), cell(&least));
    }
    text.push('\n');
}

fn sides(results: &Results) -> Option<(Vec<Part>, Vec<Part>)> {
    let by_peer = results.parts.get("instructions")?;
    let floor = results.peers.iter().find(|p| p.kind == Kind::Floor)?;
    let first = |name: &str| Some(by_peer.get(name)?.iter().take(ROWS).cloned().collect());
    Some((first(&results.subject()?.name)?, first(&floor.name)?))
}

fn notes(text: &mut String, results: &Results) {
    if results.notes.is_empty() {
        return;
    }
    text.push_str("## Notes\n\n");
    for note in &results.notes {
        let _ = writeln!(text, "- {note}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::super::results::Peer;
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(number(2553.4), "2553");
        assert_eq!(number(20.31), "20.3");
        assert_eq!(number(1.256), "1.26");
        assert_eq!(number(0.0123), "0.0123");
        assert_eq!(number(0.0), "0.00");
    }

    #[test]
    fn a_missing_peer_is_named_with_its_command() {
        let figure = Figure {
            name: "cpu",
            unit: "µs",
            title: "CPU",
            less_is_better: true,
        };
        let mut results = example(
            &[figure],
            &[("us", Kind::Subject, 1.0), ("them", Kind::Package, 2.0)],
        );
        let absent = Peer {
            name: "absent".to_string(),
            version: None,
            missing: Some("not found".to_string()),
            install: "apt-get install absent".to_string(),
            ..results.peers[1].clone()
        };
        results.peers.push(absent);
        results.quick = true;
        let text = render(&results, &[]);
        assert!(text.contains("**missing**: not found; `apt-get install absent`"));
        assert!(text.contains("smoke test"));
        assert!(
            text.contains("| CPU, µs | 2.00 (1.50–2.50) | 4.00 (3.00–5.00) |"),
            "{text}"
        );
        assert!(text.contains("| CPU, µs | 0.50 (0.50–0.50) |"), "{text}");
    }

    #[test]
    fn the_floor_stands_beside_the_subject() {
        let mut results = example(
            &[],
            &[("us", Kind::Subject, 1.0), ("floor", Kind::Floor, 2.0)],
        );
        let part = |name: &str, value| {
            vec![Part {
                name: name.to_string(),
                value,
            }]
        };
        let by_peer = results.parts.entry("instructions").or_default();
        by_peer.insert("us".to_string(), part("poll", 700.0));
        by_peer.insert("floor".to_string(), part("pump", 300.0));
        let text = render(&results, &[]);
        assert!(text.contains("| `poll` | 700 | `pump` | 300 |"), "{text}");
    }
}
