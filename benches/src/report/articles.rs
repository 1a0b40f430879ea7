//! What old articles said beside what a run found: the same ratio, theirs and ours.

use std::fmt::Write;

use super::markdown::number;
use super::results::Results;

/// A published figure, in the unit of the rig's own.
struct Said {
    rig: &'static str,
    figures: &'static [&'static str],
    peer: &'static str,
    value: f64,
}

const fn said(
    rig: &'static str,
    figures: &'static [&'static str],
    peer: &'static str,
    value: f64,
) -> Said {
    Said {
        rig,
        figures,
        peer,
        value,
    }
}

/// ab's figure, and that of our own load for the same.
const KEPT: &[&str] = &["ab-100", "time-100-c5"];
const CLOSED: &[&str] = &["ab-close", "time-close-c5"];

/// ab with five clients through squid to nginx, `keepalive_requests` 100; milliseconds.
const SAID: &[Said] = &[
    said("tunnel", KEPT, "ptunnel", 0.31),
    said("tunnel", KEPT, "python-threads", 10.51),
    said("tunnel", KEPT, "r5", 0.067),
    said("tunnel", KEPT, "none", 1.83),
    said("tunnel", CLOSED, "ptunnel", 3.28),
    said("tunnel", CLOSED, "python-threads", 1003.75),
    said("tunnel", CLOSED, "none", 2.55),
];

/// One published figure beside one of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub title: &'static str,
    pub unit: &'static str,
    pub peer: &'static str,
    pub said: f64,
    /// Over the subject's, as published; none for the subject.
    pub said_ratio: Option<f64>,
    pub found: f64,
    /// The median of the ratios of each round.
    pub found_ratio: Option<f64>,
}

/// Only what the run has both sides of.
pub fn rows(results: &Results) -> Vec<Row> {
    let Some(subject) = results.subject() else {
        return Vec::new();
    };
    let of_rig = || SAID.iter().filter(|said| said.rig == results.rig);
    let mut rows = Vec::new();
    for figure in results.measured() {
        for said in of_rig().filter(|said| said.figures.contains(&figure.name)) {
            let Some(found) = results.spread(figure.name, said.peer) else {
                continue;
            };
            let published = |of: &Said| of.peer == subject.name && of.figures == said.figures;
            let is_subject = said.peer == subject.name;
            let base = of_rig().find(|of| published(of) && !is_subject);
            let ratio = results.ratio(figure.name, said.peer, &subject.name);
            rows.push(Row {
                title: figure.title,
                unit: figure.unit,
                peer: said.peer,
                said: said.value,
                said_ratio: base.map(|base| said.value / base.value),
                found: found.median,
                found_ratio: ratio.filter(|_| !is_subject).map(|ratio| ratio.median),
            });
        }
    }
    rows
}

/// The table of the Markdown report.
pub fn markdown(text: &mut String, results: &Results) {
    let rows = rows(results);
    if rows.is_empty() {
        return;
    }
    text.push_str(
        "## The articles' figures beside ours\n\nRatios are over ptunnel's own, theirs of the program of that time. \
         `METHODOLOGY.md` says what the published figures measured.\n\n\
         | figure | peer | published | ratio | here | ratio |\n|---|---|--:|--:|--:|--:|\n",
    );
    let cell = |ratio: Option<f64>| ratio.map_or("1".to_string(), number);
    for row in rows {
        let _ = writeln!(
            text,
            "| {}, {} | {} | {} | {} | {} | {} |",
            row.title,
            row.unit,
            row.peer,
            number(row.said),
            cell(row.said_ratio),
            number(row.found),
            cell(row.found_ratio)
        );
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::results::{figure, tests::example};
    use super::*;
    use crate::peers::Kind;

    #[test]
    fn a_published_ratio_stands_beside_that_of_the_run() {
        let peers = [
            ("ptunnel", Kind::Subject, 0.5),
            ("python-threads", Kind::Program, 10.0),
            ("socat", Kind::Package, 1.0),
        ];
        let figures = [figure("ab-100", "ms", "ab", true)];
        let mut results = example(&figures, &peers);
        assert_eq!(rows(&results), []);
        results.rig = "tunnel";
        let rows = rows(&results);
        let found: Vec<_> = rows.iter().map(|r| (r.peer, r.found_ratio)).collect();
        assert_eq!(found, [("ptunnel", None), ("python-threads", Some(20.0))]);
        assert_eq!(rows[1].said_ratio.map(f64::round), Some(34.0));
        let mut text = String::new();
        markdown(&mut text, &results);
        assert!(
            text.contains("| ab, ms | python-threads | 10.5 | 33.9 | 20.0 | 20.0 |"),
            "{text}"
        );
    }

    #[test]
    fn every_published_figure_is_one_of_its_rig() {
        for said in SAID {
            let rig = crate::rigs::RIGS.iter().find(|rig| rig.name == said.rig);
            let known =
                |name: &&str| rig.is_some_and(|r| r.figures.iter().any(|f| f.name == *name));
            assert!(said.figures.iter().all(known), "{}", said.peer);
        }
    }
}
