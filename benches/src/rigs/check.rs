//! Whether a run has left all that it should: for CI, which judges no speed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::again::{folders_of_runs, outcome_of};
use super::run::Outcome;
use super::{Group, Rig, RIGS};
use crate::report::plot;
use crate::report::results::{Peer, Results};

/// What a text is full of when something was not filled in or could not be calculated.
const PLACEHOLDERS: &[&str] = &["NaN", "{}", "{0}", "{:?}"];

/// Each folder is that of a rig, or of a run of several, with a page. An error names all that is wanting.
pub fn check(folders: &[PathBuf]) -> io::Result<()> {
    let mut wanting = Vec::new();
    for folder in folders {
        let page = read(&folder.join("report.html"))?;
        for run in folders_of_runs(folder) {
            let outcome = outcome_of(&run)?;
            let report = read(&run.join("report.md"))?;
            let plot = read(&run.join("plot.svg"))?;
            let found = complaints(&outcome, &report, &plot, &page);
            wanting.extend(
                found
                    .into_iter()
                    .map(|what| format!("{}: {what}", run.display())),
            );
        }
    }
    match wanting.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(wanting.join("\n"))),
    }
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map_err(|e| io::Error::other(format!("{}: {e}", path.display())))
}

fn complaints(outcome: &Outcome, report: &str, plot: &str, page: &str) -> Vec<String> {
    let results = &outcome.results;
    let mut wanting = Vec::new();
    if let Some(rig) = RIGS.iter().find(|rig| rig.name == results.rig) {
        samples(rig, results, &mut wanting);
    }
    let mut demand = |file: &str, text: &str, part: String| {
        if !text.contains(&part) {
            wanting.push(format!("{file} has no {part:?}"));
        }
    };
    let subject = results.subject().map_or("", |subject| &subject.name);
    demand("report.md", report, format!("# {}, ", results.title()));
    for title in ["Peers", "Figures", "Targets"] {
        demand("report.md", report, format!("\n## {title}\n"));
    }
    let ratios = format!("\n## {subject} in relation to each peer\n");
    demand("report.md", report, ratios);
    let begin = format!("<section id=\"{}\">", results.anchor());
    demand("report.html", page, begin.clone());
    demand("report.html", page, "</html>".to_string());
    let section = page.split_once(&begin).map_or("", |(_, rest)| rest);
    let section = section.split_once("</section>").map_or("", |(own, _)| own);
    for figure in plot::drawn(results) {
        let panel = format!("<title>{}</title>", plot::escape(figure.title));
        demand("plot.svg", plot, panel.clone());
        demand("report.html", section, panel);
    }
    for (file, text) in [
        ("report.md", report),
        ("plot.svg", plot),
        ("report.html", section),
    ] {
        let found = PLACEHOLDERS.iter().filter(|word| text.contains(**word));
        wanting.extend(found.map(|word| format!("{file} has {word:?}")));
    }
    if plot::drawn(results).is_empty() {
        wanting.push("nothing is drawn".to_string());
    }
    wanting
}

/// Every peer that was there has a sample of every group that it was asked for, and every figure has one of somebody: of
/// the subject, unless its entry says that it can't give it.
fn samples(rig: &Rig, results: &Results, wanting: &mut Vec<String>) {
    let has = |figure: &str, peer: &Peer| !results.by_round(figure, &peer.name).is_empty();
    let asked = |figure: &&&str| !results.left_out.figures.iter().any(|left| left == **figure);
    let can = |peer: &Peer, figure: &str| !peer.without.iter().any(|f| f == figure);
    let there: Vec<&Peer> = results
        .peers
        .iter()
        .filter(|p| p.missing.is_none())
        .collect();
    for Group { name, figures, .. } in rig.groups {
        let figures: Vec<&str> = figures.iter().filter(asked).copied().collect();
        for peer in &there {
            let of_it: Vec<&str> = figures.iter().copied().filter(|f| can(peer, f)).collect();
            if !of_it.is_empty() && !of_it.iter().any(|figure| has(figure, peer)) {
                wanting.push(format!("{} has no sample of {name}", peer.name));
            }
        }
        for figure in figures {
            let subject = results.subject().filter(|subject| can(subject, figure));
            let is_there = match subject {
                Some(subject) => has(figure, subject),
                None => there.iter().any(|peer| has(figure, peer)),
            };
            if !is_there {
                wanting.push(format!("{figure} has no sample"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Kind;
    use crate::report::results::tests::example;
    use crate::report::{html, markdown};
    use crate::rigs::echo;

    /// A run of two groups of the echo rig, as it is written.
    fn run() -> (Outcome, [String; 3]) {
        let asked = &echo::RIG.groups[..2];
        let is_asked = |name: &str| asked.iter().any(|g| g.figures.contains(&name));
        let (figures, left): (Vec<_>, Vec<_>) = echo::RIG
            .figures
            .iter()
            .copied()
            .partition(|f| is_asked(f.name));
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&figures, &peers);
        results.rig = "echo";
        results.left_out.figures = left.iter().map(|f| f.name.to_string()).collect();
        let lines = Vec::new();
        let report = markdown::render(&results, &lines);
        let plot = plot::render(&results);
        let outcome = Outcome { results, lines };
        let page = html::render(std::slice::from_ref(&outcome));
        (outcome, [report, plot, page])
    }

    #[test]
    fn a_whole_run_wants_nothing() {
        let (outcome, [report, plot, page]) = run();
        let none: [String; 0] = [];
        assert_eq!(complaints(&outcome, &report, &plot, &page), none);
    }

    #[test]
    fn a_peer_without_a_sample_of_a_group_is_named() {
        let (mut outcome, [report, plot, page]) = run();
        let group = &echo::RIG.groups[1];
        let is_theirs =
            |figure: &str, peer: &str| peer == "them" && group.figures.contains(&figure);
        outcome
            .results
            .samples
            .retain(|s| !is_theirs(s.figure, &s.peer));
        let told = complaints(&outcome, &report, &plot, &page);
        assert_eq!(told, [format!("them has no sample of {}", group.name)]);
        // Neither is one that can't give them, nor one that isn't there.
        outcome.results.peers[1].without = group.figures.iter().map(|f| f.to_string()).collect();
        assert!(complaints(&outcome, &report, &plot, &page).is_empty());
    }

    #[test]
    fn a_figure_without_a_sample_of_ours_is_named() {
        let (mut outcome, [report, plot, page]) = run();
        let figure = echo::RIG.groups[0].figures[1];
        outcome
            .results
            .samples
            .retain(|s| s.figure != figure || s.peer != "us");
        let told = complaints(&outcome, &report, &plot, &page);
        assert_eq!(told, [format!("{figure} has no sample")]);
    }

    #[test]
    fn a_section_a_panel_and_what_was_not_filled_in_are_seen() {
        let (outcome, [report, plot, page]) = run();
        let told = |report: &str, plot: &str, page: &str| complaints(&outcome, report, plot, page);
        let cut = report.replace("## Targets", "");
        assert_eq!(
            told(&cut, &plot, &page),
            ["report.md has no \"\\n## Targets\\n\""]
        );
        let title = plot::drawn(&outcome.results)[0].title;
        let without = page.replace(&format!("<title>{title}</title>"), "");
        assert_eq!(told(&report, &plot, &without).len(), 1);
        let elsewhere = page.replace("<section id=\"echo\">", "<section id=\"relay\">");
        assert!(told(&report, &plot, &elsewhere).len() > 1);
        let nan = page.replace("</section>", "NaN</section>");
        assert_eq!(told(&report, &plot, &nan), ["report.html has \"NaN\""]);
    }
}
