//! What stands behind the answer: every ratio, every figure, who the peers were, and what their time goes to.

use std::fmt::Write;

use super::super::articles;
use super::super::markdown::number;
use super::super::plot::escape;
use super::super::results::{Figure, Peer, Results};
use super::super::stats::Spread;
use super::sign;
use crate::peers::Kind;

/// Dearest parts that are shown of each peer.
const PARTS: usize = 8;

/// The subject in relation to each peer.
pub fn ratios(page: &mut String, results: &Results) {
    let Some(subject) = results.subject() else {
        return;
    };
    let name = escape(&subject.name);
    let _ = writeln!(
        page,
        "<h3>{name} in relation to each peer</h3>\n<p>{name}'s figure divided by the peer's, with its 95 % interval. \
         <span class=\"better\">▲ better for us</span>, <span class=\"worse\">▼ worse for us</span>, \
         <span class=\"none\">≈ no difference that this machine can tell</span>: the interval holds 1, or the ratio lies \
         inside the control's spread. ↑ marks figures of which more is better.</p>"
    );
    let others = |p: &&Peer| p.kind != Kind::Subject;
    table(page, results, others, |figure, peer| {
        let control = peer.again.as_ref();
        let ratio = match control {
            Some(again) => results.ratio(figure.name, &peer.name, again)?,
            None => results.ratio(figure.name, &subject.name, &peer.name)?,
        };
        if control.is_some() {
            return Some(("control", with_range(ratio)));
        }
        let (class, sign) = sign(results.difference(figure, ratio));
        Some((class, format!("{sign} {}", with_range(ratio))))
    });
}

/// What old articles said, ratio for ratio.
pub fn articles(page: &mut String, results: &Results) {
    let rows = articles::rows(results);
    if rows.is_empty() {
        return;
    }
    page.push_str(
        "<h3>The articles' figures beside ours</h3>\n<p>Ratios are over ptunnel's own, theirs of the program of that time; \
         <code>METHODOLOGY.md</code> says what the published figures measured.</p>\n<div class=\"wide\"><table class=\"matrix\">\n\
         <tr><th>figure<th>peer<th class=\"number\">published<th class=\"number\">ratio<th class=\"number\">here\
         <th class=\"number\">ratio</tr>\n",
    );
    let cell = |ratio: Option<f64>| ratio.map_or("1".to_string(), number);
    for row in rows {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}, {}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>",
            escape(row.title),
            escape(row.unit),
            escape(row.peer),
            number(row.said),
            cell(row.said_ratio),
            number(row.found),
            cell(row.found_ratio)
        );
    }
    page.push_str("</table></div>\n");
}

/// Medians and quartiles of everyone.
pub fn figures(page: &mut String, results: &Results) {
    page.push_str(
        "<h3>Every figure</h3>\n<p>Medians, and the quartiles where there are several samples.</p>\n",
    );
    table(
        page,
        results,
        |_| true,
        |figure, peer| {
            let spread = results.spread(figure.name, &peer.name)?;
            let class = if peer.kind == Kind::Subject {
                "ours"
            } else {
                ""
            };
            Some((class, with_range(spread)))
        },
    );
}

/// A row for each figure and a column for each peer that have a cell; a cell is its class and content.
fn table(
    page: &mut String,
    results: &Results,
    wanted: impl Fn(&&Peer) -> bool,
    cell: impl Fn(&Figure, &Peer) -> Option<(&'static str, String)>,
) {
    let figures = results.measured();
    let there = |p: &&Peer| {
        p.version.is_some() && wanted(p) && figures.iter().any(|f| cell(f, p).is_some())
    };
    let peers: Vec<&Peer> = results.peers.iter().filter(there).collect();
    let told = |f: &&Figure| peers.iter().any(|p| cell(f, p).is_some());
    page.push_str("<div class=\"wide\"><table class=\"matrix\">\n<tr><th>figure");
    for peer in &peers {
        let control = match &peer.again {
            Some(again) => format!("<small>control: of {}</small>", escape(again)),
            None => String::new(),
        };
        let _ = write!(
            page,
            "<th class=\"number\">{}{control}",
            escape(&peer.label()).replace('-', "&#8209;")
        );
    }
    page.push_str("</tr>\n");
    for figure in figures.iter().filter(told) {
        let arrow = if figure.less_is_better { "" } else { " ↑" };
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}, {}{arrow}",
            escape(figure.title),
            escape(figure.unit)
        );
        for peer in &peers {
            let _ = match cell(figure, peer) {
                Some(("", text)) => write!(page, "<td>{text}"),
                Some((class, text)) => write!(page, "<td class=\"{class}\">{text}"),
                None => write!(page, "<td>–"),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

fn with_range(s: Spread) -> String {
    if s.count == 1 {
        return number(s.median);
    }
    format!(
        "{}<small>{}–{}</small>",
        number(s.median),
        number(s.low),
        number(s.high)
    )
}

pub fn peers(page: &mut String, results: &Results) {
    page.push_str(
        "<h3>Peers</h3>\n<div class=\"wide\"><table class=\"peers\">\n\
         <tr><th>peer<th>what it is<th>version<th>how it was started</tr>\n",
    );
    for peer in &results.peers {
        let version = match &peer.version {
            Some(version) => escape(version),
            None => format!("<b>missing</b>; <code>{}</code>", escape(&peer.install)),
        };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}<small>{}</small><td>{}{}<td>{version}<td><code>{}</code></tr>",
            escape(&peer.label()),
            kind(peer.kind),
            escape(&peer.about),
            // What a relay does with bulk decides its bulk figures.
            if peer.splice { "; splices" } else { "" },
            escape(&peer.start)
        );
    }
    page.push_str("</table></div>\n");
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Subject => "what is measured",
        Kind::Variant => "ours, another way",
        Kind::Floor => "floor",
        Kind::Program => "written for this",
        Kind::Package => "package",
        Kind::Control => "control",
    }
}

/// What the dearest functions and calls of each peer are.
pub fn parts(page: &mut String, results: &Results) {
    for (name, by_peer) in &results.parts {
        let figure = results.figures.iter().find(|f| f.name == *name);
        let _ = writeln!(
            page,
            "<h3>What {} are made of</h3>\n<div class=\"wide\"><table class=\"parts\">",
            escape(figure.map_or(*name, |f| f.title))
        );
        for peer in &results.peers {
            let Some(parts) = by_peer.get(&peer.name) else {
                continue;
            };
            let cells: Vec<String> = parts
                .iter()
                .take(PARTS)
                .map(|p| {
                    format!(
                        "<span><code>{}</code>&nbsp;{}</span>",
                        escape(&p.name),
                        number(p.value)
                    )
                })
                .collect();
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}<td>{}</tr>",
                escape(&peer.name),
                cells.join(" ")
            );
        }
        page.push_str("</table></div>\n");
    }
}

pub fn notes(page: &mut String, results: &Results) {
    if results.notes.is_empty() {
        return;
    }
    page.push_str("<h3>What went otherwise than planned</h3>\n<ul class=\"notes\">\n");
    for note in &results.notes {
        let _ = writeln!(page, "<li>{}</li>", escape(note));
    }
    page.push_str("</ul>\n");
}
