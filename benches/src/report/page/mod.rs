//! `report.html`: one plot and four cards that answer the first question, a plot a rig, and folded behind them all that is
//! needed to doubt it.
//!
//! `page.html` is the template; the style is in the page, which needs no network and no script.

mod cards;
mod forest;
mod run;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::headline;
use crate::rigs::Outcome;

pub use forest::range;

/// What the template names.
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
    pairs: Vec<run::Pairs>,
}

/// The page of one or several runs.
///
/// # Panics
/// When the template names what there is not, which a test would see.
pub fn render(outcomes: &[Outcome]) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("number", super::number);
    environment
        .add_template("page.html", include_str!("page.html"))
        .expect("a template that parses");
    let template = environment.get_template("page.html").expect("it was added");
    let page = Page {
        style: include_str!("style.css"),
        lead: outcomes.iter().find_map(lead),
        cards: cards::cards(outcomes),
        runs: run::runs(outcomes),
    };
    template
        .render(Serde(page))
        .unwrap_or_else(|e| panic!("{e:#}"))
}

/// Of the first run that has the headline's figure and a peer to compare.
fn lead(Outcome { results, .. }: &Outcome) -> Option<Lead> {
    let figure = headline::figure(results)?;
    let peers = headline::PEERS.iter().filter_map(|name| results.peer(name));
    let forest = forest::Forest::of(results, &figure, peers)?;
    forest.reference.as_ref()?;
    Some(Lead {
        forest,
        date: results.date.clone(),
        commit: results.short_commit().to_string(),
        pairs: run::pairs(results),
    })
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::super::results::{figure, Part};
    use super::super::targets::{judge, target, Against, Bound};
    use super::*;
    use crate::peers::Kind;

    fn outcome(rig: &'static str) -> Outcome {
        let figures = [
            figure("cpu", "µs", "CPU <each>", true),
            figure("other", "s", "other", true),
        ];
        let peers = [
            ("ptunnel", Kind::Subject, 1.0),
            ("haproxy", Kind::Package, 2.0),
            ("tokio", Kind::Program, 1.0),
        ];
        let mut results = example(&figures, &peers);
        results.rig = rig;
        let part = Part {
            name: "poll".to_string(),
            value: 7.0,
        };
        results
            .parts
            .entry("cpu")
            .or_default()
            .insert("tokio".to_string(), vec![part]);
        results.note("a note".to_string());
        let each = |bound, peer| target("cpu", bound, Against::Peer(peer)).from("a promise");
        let lines = judge(
            &[
                each(Bound::AtMost(0.40), "haproxy"),
                each(Bound::AtMost(1.00), "tokio"),
                each(Bound::AtMost(1.00), "absent"),
            ],
            &results,
        );
        Outcome { results, lines }
    }

    #[test]
    fn a_page_needs_no_network_and_no_script() {
        let page = render(&[outcome("relay"), outcome("echo")]);
        for word in [
            "<script", "<link", "src=", "url(", "@import", "http://", "https:",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("CPU &lt;each&gt;") && !page.contains("<each>"));
    }

    #[test]
    fn every_element_that_must_be_closed_is() {
        let page = render(&[outcome("relay"), outcome("echo")]);
        for tag in [
            "section", "table", "details", "h2", "h3", "p", "ul", "ol", "dl", "span", "b", "div",
            "small",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn the_first_screen_has_the_plot_and_the_cards_before_any_rig() {
        let page = render(&[outcome("echo"), outcome("relay")]);
        let at = |text: &str| {
            page.find(text)
                .unwrap_or_else(|| panic!("{text} is not there: {page}"))
        };
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
        assert!(
            folded.contains("data-figure=\"other\"") && !folded.contains("data-figure=\"cpu\"")
        );
    }

    #[test]
    fn verdicts_are_words_with_their_source() {
        let page = render(&[outcome("relay")]);
        assert!(
            page.contains("1 of 3 targets met") || page.contains("0 of 3 targets met"),
            "{page}"
        );
        for word in ["missed", "not measured", "a promise", "level"] {
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
