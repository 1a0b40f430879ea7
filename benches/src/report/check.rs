//! Whether a run has left all that it should: for CI, which judges no speed.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::again::outcomes_of;
use crate::measure::{Group, Rig};
use crate::model::{Outcome, Peer, Results};
use crate::rigs;

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
            let found = complaints(&outcome, &page).into_iter();
            wanting.extend(found.map(|what| format!("{}: {what}", folder.display())));
        }
    }
    match wanting.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(wanting.join("\n"))),
    }
}

fn complaints(Outcome { results, .. }: &Outcome, page: &str) -> Vec<String> {
    let mut wanting = Vec::new();
    if let Some(rig) = rigs::named(results.rig) {
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
    let asked = |figure: &&str| !results.left_out.figures.iter().any(|left| left == figure);
    let there = &results.peers;
    for Group { name, figures, .. } in rig.groups {
        let figures: Vec<&str> = figures.iter().map(|f| f.name).filter(asked).collect();
        for peer in there {
            let of_it: Vec<&str> = figures.iter().copied().filter(|f| peer.gives(f)).collect();
            if !of_it.is_empty() && !of_it.iter().any(|figure| has(figure, peer)) {
                wanting.push(format!("{} has no sample of {name}", peer.name));
            }
        }
        for figure in figures {
            let subject = results.subject().filter(|subject| subject.gives(figure));
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
    use super::super::page;
    use super::*;
    use crate::model::example::example;
    use crate::model::{Figure, Kind, Sample};
    use crate::rigs::echo;

    /// A run of two groups of the echo rig, with its page.
    fn run() -> (Outcome, String) {
        let [asked, left] = [&echo::RIG.groups[..2], &echo::RIG.groups[2..]];
        let figures = |groups: &[Group]| -> Vec<Figure> {
            groups.iter().flat_map(|g| g.figures).copied().collect()
        };
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&figures(asked), &peers);
        results.rig = "echo";
        results.left_out.figures = figures(left).iter().map(|f| f.name.to_string()).collect();
        let outcome = Outcome {
            results,
            lines: Vec::new(),
        };
        let page = page::render(std::slice::from_ref(&outcome));
        (outcome, page)
    }

    /// Takes figures away from a peer.
    fn without(outcome: &mut Outcome, peer: &str, figures: &[Figure]) {
        let of_it = |s: &&mut Sample| s.peer == peer;
        for sample in outcome.results.samples.iter_mut().filter(of_it) {
            sample
                .values
                .retain(|name, _| !figures.iter().any(|f| f.name == *name));
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
        let Group { name, figures, .. } = echo::RIG.groups[1];
        without(&mut outcome, "them", figures);
        let wanted = format!("them has no sample of {name}");
        assert_eq!(complaints(&outcome, &page), [wanted]);
        // Neither is one that can't give them, nor one that isn't there.
        outcome.results.peers[1].without = figures.iter().map(|f| f.name.to_string()).collect();
        assert!(complaints(&outcome, &page).is_empty());
    }

    #[test]
    fn a_figure_without_a_sample_of_ours_is_named() {
        let (mut outcome, page) = run();
        without(&mut outcome, "us", &echo::RIG.groups[0].figures[1..]);
        assert_eq!(complaints(&outcome, &page), ["messages-c1 has no sample"]);
    }

    #[test]
    fn a_section_a_plot_and_what_was_not_filled_in_are_seen() {
        let (outcome, page) = run();
        let told = |from: &str, to: &str| complaints(&outcome, &page.replace(from, to));
        let without = told("data-figure=\"messages-c1\"", "");
        assert_eq!(without, ["report.html has no plot of messages-c1"]);
        assert!(told("<section id=\"echo\">", "<section id=\"relay\">").len() > 1);
        let nan = told("</section>", "NaN</section>");
        assert_eq!(nan, ["report.html has \"NaN\""]);
    }
}
