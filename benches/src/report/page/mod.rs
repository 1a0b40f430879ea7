//! `report.html`: one plot and four cards that answer the first question, a plot a rig, and folded behind them all that is
//! needed to doubt it. Beside it the first plot as an image, for pages that can't hold the other.
//!
//! `page.html` and `plot.svg` are the templates; the style is in the page, which needs no network and no script.

mod cards;
mod forest;
mod run;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::number::number;
use crate::measure::headline;
use crate::model::Outcome;

/// The names of the files.
pub const PAGE: &str = "report.html";
pub const PLOT: &str = "plot.svg";

/// What the page's template names.
#[derive(Serialize)]
struct Page {
    style: &'static str,
    lead: Option<Lead>,
    cards: Vec<cards::Card>,
    runs: Vec<run::Run>,
}

/// The first plot.
#[derive(Serialize)]
struct Lead {
    forest: forest::Forest,
    date: String,
    commit: String,
    pairs: Vec<(&'static str, usize, usize)>,
}

/// Writes the page of one or several runs, and its first plot, into a folder; returns where the page is.
///
/// # Errors
/// Those of writing.
pub fn write(folder: &Path, outcomes: &[Outcome]) -> io::Result<PathBuf> {
    let page = folder.join(PAGE);
    fs::write(&page, render(outcomes))?;
    if let Some(plot) = plot(outcomes) {
        fs::write(folder.join(PLOT), plot)?;
    }
    Ok(page)
}

/// The page of one or several runs.
pub fn render(outcomes: &[Outcome]) -> String {
    let page = Page {
        style: include_str!("style.css"),
        lead: outcomes.iter().find_map(lead),
        cards: cards::cards(outcomes),
        runs: run::runs(outcomes),
    };
    fill(include_str!("page.html"), page)
}

/// Its first plot as an image, if it has one.
pub fn plot(outcomes: &[Outcome]) -> Option<String> {
    let lead = outcomes.iter().find_map(lead)?;
    Some(fill(include_str!("plot.svg"), lead))
}

/// # Panics
/// When the template names what there is not, which a test would see.
fn fill(template: &str, values: impl Serialize) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("number", number);
    let filled = environment.render_str(template, Serde(values));
    filled.unwrap_or_else(|e| panic!("{e:#}"))
}

/// Of the first run that has the headline's figure and a peer to compare.
fn lead(Outcome { results, .. }: &Outcome) -> Option<Lead> {
    let figure = headline::figure(results)?;
    let peers = headline::PEERS
        .split(' ')
        .filter_map(|name| results.peer(name));
    let forest = forest::Forest::of(results, &figure, peers)?;
    forest.reference.as_ref()?;
    Some(Lead {
        forest,
        date: results.date.clone(),
        commit: results.short_commit().to_string(),
        pairs: headline::pairs(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::example;
    use crate::model::{less, target, Beside, Bound, Kind, Part};
    use crate::report::judge::judge;

    fn outcome(rig: &'static str) -> Outcome {
        let figures = [less("cpu", "µs", "CPU <each>"), less("other", "s", "other")];
        let peers = [
            ("ptunnel", Kind::Subject, 1.0),
            ("haproxy", Kind::Package, 2.0),
            ("tokio", Kind::Program, 1.0),
        ];
        let mut results = example(&figures, &peers);
        results.rig = rig;
        let parts = [("tokio".to_string(), vec![Part::new("poll", 7.0)])];
        results.parts.insert("cpu", parts.into());
        results.note("a note".to_string());
        let each = |bound, peer| target("cpu", bound, Beside::Peer(peer)).from("a promise");
        let targets = [
            each(Bound::AtMost(0.40), "haproxy"),
            each(Bound::AtMost(1.00), "tokio"),
            each(Bound::AtMost(1.00), "absent"),
        ];
        let lines = judge(&targets, &results);
        Outcome { results, lines }
    }

    /// The page and its plot.
    fn both(outcomes: &[Outcome]) -> [String; 2] {
        [render(outcomes), plot(outcomes).unwrap()]
    }

    #[test]
    fn a_page_needs_no_network_and_no_script() {
        for page in both(&[outcome("relay"), outcome("echo")]) {
            let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            let words = "<script <link src= url( @import http:// https:";
            let found = words.split(' ').find(|word| page.contains(word));
            assert_eq!(found, None);
            assert!(page.contains("CPU &lt;each&gt;") && !page.contains("<each>"));
        }
    }

    #[test]
    fn every_element_that_must_be_closed_is() {
        let tags = "section table details h2 h3 p ul ol dl span b div small svg text title tspan";
        for page in both(&[outcome("relay"), outcome("echo")]) {
            for tag in tags.split(' ') {
                let opened = [format!("<{tag}>"), format!("<{tag} ")];
                let opened: usize = opened.iter().map(|text| page.matches(text).count()).sum();
                let closed = page.matches(&format!("</{tag}>")).count();
                assert_eq!(opened, closed, "{tag}");
            }
        }
    }

    #[test]
    fn the_plot_has_a_row_a_peer_and_says_who_is_behind() {
        let plot = plot(&[outcome("echo"), outcome("relay")]).unwrap();
        assert!(plot.contains(">ptunnel</text>") && plot.contains(">tokio</text>"));
        let (_, haproxy) = plot.split_once(">haproxy</text>").unwrap();
        assert!(haproxy.contains("behind"), "{haproxy}");
        assert!(super::plot(&[outcome("echo")]).is_none());
    }

    #[test]
    fn the_first_screen_has_the_plot_and_the_cards_before_any_rig() {
        let page = render(&[outcome("echo"), outcome("relay")]);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(at("class=\"lead\"") < at("class=\"cards\""));
        assert!(at("class=\"cards\"") < at("<section id=\"echo\">"));
        assert!(at("<section id=\"echo\">") < at("<section id=\"relay\">"));
        assert!(!render(&[outcome("echo")]).contains("class=\"lead\""));
    }

    #[test]
    fn a_run_shows_one_plot_and_folds_the_rest() {
        let page = render(&[outcome("echo")]);
        let (open, folded) = page.split_once("<details").unwrap();
        assert!(open.contains("data-figure=\"cpu\"") && !open.contains("data-figure=\"other\""));
        assert!(folded.contains("data-figure=\"other\""));
        assert!(!folded.contains("data-figure=\"cpu\""));
    }

    #[test]
    fn verdicts_are_words_with_their_source() {
        let page = render(&[outcome("relay")]);
        for word in [
            "0 of 3 targets met",
            "undecided",
            "unmeasured",
            "a promise",
            "level",
        ] {
            assert!(page.contains(word), "{word}: {page}");
        }
    }

    #[test]
    fn what_makes_a_run_worth_less_stands_before_its_plot() {
        let mut one = outcome("echo");
        one.results.quick = true;
        let page = render(&[one]);
        let plot = page.find("data-figure").unwrap();
        for text in ["A quick run", "Not pinned"] {
            assert!(page.find(text).unwrap() < plot, "{text}");
        }
    }

    #[test]
    fn two_runs_of_a_rig_have_places_of_their_own() {
        let page = render(&[outcome("relay"), outcome("relay")]);
        for id in ["relay", "relay-2"] {
            assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
            assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }
}
