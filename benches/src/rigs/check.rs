//! Whether a run has left all that it should: for CI, which judges no speed.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::again::outcomes_of;
use super::run::Outcome;
use super::{Group, Rig, RIGS};
use crate::report::results::{Peer, Results};

/// What a text is full of when something was not filled in or could not be calculated.
/// A template's has a space inside, the name of a function, as in `{{closure}}`, has none.
const PLACEHOLDERS: &[&str] = &["NaN", "{}", "{{ ", "{0}", "{:?}"];

/// Each folder is that of a rig, or of a run of several, with a page. An error names all that is missing.
pub fn check(folders: &[PathBuf]) -> io::Result<()> {
    let mut wanting = Vec::new();
    for folder in folders {
        let page = fs::read_to_string(folder.join("report.html"))
            .map_err(|e| io::Error::other(format!("{}: {e}", folder.display())))?;
        for outcome in outcomes_of(folder)? {
            let found = complaints(&outcome, &page);
            wanting.extend(
                found
                    .into_iter()
                    .map(|what| format!("{}: {what}", folder.display())),
            );
        }
    }
    match wanting.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(wanting.join("\n"))),
    }
}

fn complaints(Outcome { results, .. }: &Outcome, page: &str) -> Vec<String> {
    let mut wanting = Vec::new();
    if let Some(rig) = RIGS.iter().find(|rig| rig.name == results.rig) {
        samples(rig, results, &mut wanting);
    }
    let begin = format!("<section id=\"{}\">", results.rig);
    let section = page.split_once(&begin).map_or("", |(_, rest)| rest);
    let section = section.split_once("</section>").map_or("", |(own, _)| own);
    for figure in results.measured() {
        if !section.contains(&format!("data-figure=\"{}\"", figure.name)) {
            wanting.push(format!("report.html has no plot of {}", figure.name));
        }
    }
    let found = PLACEHOLDERS.iter().filter(|word| section.contains(**word));
    wanting.extend(found.map(|word| format!("report.html has {word:?}")));
    wanting
}

/// Every peer that was there has a sample of every group that it was asked for, and every figure has one of some peer: of
/// the subject, unless its entry says that it can't give it.
fn samples(rig: &Rig, results: &Results, wanting: &mut Vec<String>) {
    let has = |figure: &str, peer: &Peer| !results.by_round(figure, &peer.name).is_empty();
    let asked = |figure: &&&str| !results.left_out.figures.iter().any(|left| left == **figure);
    let can = |peer: &Peer, figure: &str| !peer.without.iter().any(|f| f == figure);
    let there = &results.peers;
    for Group { name, figures, .. } in rig.groups {
        let figures: Vec<&str> = figures.iter().filter(asked).copied().collect();
        for peer in there {
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
    use crate::report::page;
    use crate::report::results::tests::example;
    use crate::rigs::echo;

    /// A run of two groups of the echo rig, with its page.
    fn run() -> (Outcome, String) {
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
        let outcome = Outcome {
            results,
            lines: Vec::new(),
        };
        let page = page::render(std::slice::from_ref(&outcome));
        (outcome, page)
    }

    /// Takes figures away from a peer.
    fn without(outcome: &mut Outcome, peer: &str, figures: &[&str]) {
        for sample in outcome
            .results
            .samples
            .iter_mut()
            .filter(|s| s.peer == peer)
        {
            sample.values.retain(|figure, _| !figures.contains(figure));
        }
    }

    #[test]
    fn a_whole_run_lacks_nothing() {
        let (outcome, page) = run();
        assert_eq!(complaints(&outcome, &page), Vec::<String>::new());
    }

    #[test]
    fn a_peer_without_a_sample_of_a_group_is_named() {
        let (mut outcome, page) = run();
        let group = &echo::RIG.groups[1];
        without(&mut outcome, "them", group.figures);
        assert_eq!(
            complaints(&outcome, &page),
            [format!("them has no sample of {}", group.name)]
        );
        // Neither is one that can't give them, nor one that isn't there.
        outcome.results.peers[1].without = group.figures.iter().map(|f| f.to_string()).collect();
        assert!(complaints(&outcome, &page).is_empty());
    }

    #[test]
    fn a_figure_without_a_sample_of_ours_is_named() {
        let (mut outcome, page) = run();
        let figure = echo::RIG.groups[0].figures[1];
        without(&mut outcome, "us", &[figure]);
        assert_eq!(
            complaints(&outcome, &page),
            [format!("{figure} has no sample")]
        );
    }

    #[test]
    fn a_section_a_plot_and_what_was_not_filled_in_are_seen() {
        let (outcome, page) = run();
        let told = |page: &str| complaints(&outcome, page);
        let name = outcome.results.figures[1].name;
        let without = page.replace(&format!("data-figure=\"{name}\""), "");
        assert_eq!(
            told(&without),
            [format!("report.html has no plot of {name}")]
        );
        let elsewhere = page.replace("<section id=\"echo\">", "<section id=\"relay\">");
        assert!(told(&elsewhere).len() > 1);
        let nan = page.replace("</section>", "NaN</section>");
        assert_eq!(told(&nan), ["report.html has \"NaN\""]);
    }
}
