//! One page for a run: what is compared, who wins, by how much, how sure; then all that is needed to doubt it.
//!
//! Style and pictures are in the page; it needs no network and no script.

mod answer;
mod strip;
mod tables;

use std::fmt::Write;

use super::difference::Difference;
use super::headline::headline;
use super::plot::{self, escape};
use super::targets::{score, Verdict};
use super::Results;
use crate::rigs::Outcome;

const STYLE: &str = include_str!("style.css");

pub fn render(outcomes: &[Outcome]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>\n{}{STYLE}</style>\n</head>\n<body>\n",
        title(outcomes),
        plot::STYLE
    );
    let _ = writeln!(page, "<header>\n<h1>ptunnel, measured</h1>");
    page.push_str(READING);
    if outcomes.len() > 1 {
        contents(&mut page, outcomes);
    }
    page.push_str("</header>\n<main>\n");
    for (index, outcome) in outcomes.iter().enumerate() {
        rig(&mut page, outcome, &anchor(outcomes, index));
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// What a reader must know before the first figure.
const READING: &str = "<p class=\"reading\">Each section is one run, on one day and one machine, in which the peers took \
    turns. A <b>ratio</b> is ours divided by theirs or, where two are named, the first one's divided by the second's: the \
    median over the rounds; in brackets the 95 % interval of that median. \
    A <b>control</b> is one peer measured twice: what differs by no more than the two do, or whose interval holds 1, is \
    <span class=\"none\">≈ no difference that this machine can tell</span>. \
    <span class=\"better\">▲ better</span> and <span class=\"worse\">▼ worse</span> are from our side.</p>\n";

fn title(outcomes: &[Outcome]) -> String {
    match outcomes {
        [one] => format!(
            "ptunnel, measured: {}, {}",
            escape(one.results.rig),
            escape(&one.results.date)
        ),
        _ => "ptunnel, measured".to_string(),
    }
}

fn contents(page: &mut String, outcomes: &[Outcome]) {
    page.push_str(
        "<nav class=\"wide\"><table>\n<tr><th>rig<th>what it compares, and who wins<th>day<th>targets</tr>\n",
    );
    for (index, Outcome { results, lines }) in outcomes.iter().enumerate() {
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{0}\">{0}</a><td>{1} <b>{2}</b><td>{3}<td>{4}</tr>",
            anchor(outcomes, index),
            escape(results.question),
            escape(&headline(results).unwrap_or_default()),
            escape(&results.date),
            score(lines)
        );
    }
    page.push_str("</table></nav>\n");
}

/// A number behind the name where two runs on one page have the same.
fn anchor(outcomes: &[Outcome], index: usize) -> String {
    let name = outcomes[index].results.anchor();
    let before = outcomes[..index]
        .iter()
        .filter(|o| o.results.anchor() == name);
    match before.count() {
        0 => escape(name),
        n => format!("{}-{}", escape(name), n + 1),
    }
}

fn rig(page: &mut String, Outcome { results, lines }: &Outcome, anchor: &str) {
    let _ = writeln!(
        page,
        "<section id=\"{anchor}\">\n<h2>{}, {}</h2>\n<p class=\"question\">{}</p>",
        escape(&results.title()),
        escape(&results.date),
        escape(results.question)
    );
    let paragraphs = [
        ("headline", headline(results)),
        ("reason", results.reason()),
    ];
    for (class, text) in paragraphs {
        if let Some(text) = text {
            let _ = writeln!(page, "<p class=\"{class}\">{}</p>", coded(&text));
        }
    }
    warnings(page, results);
    answer::short(page, results, lines);
    plots(page, results);
    answer::targets(page, results, lines);
    tables::articles(page, results);
    tables::ratios(page, results);
    tables::figures(page, results);
    tables::peers(page, results);
    tables::parts(page, results);
    how(page, results);
    tables::notes(page, results);
    page.push_str("</section>\n");
}

/// Text with its `code` marked as that.
fn coded(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let marked = parts.map(|(index, part)| match index % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    });
    marked.collect()
}

/// What makes the figures worth less, before the figures.
fn warnings(page: &mut String, results: &Results) {
    let mut warn = |text: String| {
        let _ = writeln!(page, "<p class=\"warning\">{text}</p>");
    };
    for (what, more) in results.warnings() {
        warn(format!("<b>{what}</b>{}", escape(&more)));
    }
    if results.machine.pinned.is_none() {
        warn("<b>Not pinned</b>: peers and load shared their cores; the kernel or the machine allows nothing else.".to_string());
    }
    for peer in results.peers.iter().filter(|p| p.version.is_none()) {
        warn(format!(
            "<b>{}</b> is missing: {}. To have it: <code>{}</code>",
            escape(&peer.name),
            escape(peer.missing.as_deref().unwrap_or("not found")),
            escape(&peer.install)
        ));
    }
}

fn plots(page: &mut String, results: &Results) {
    let figures = plot::drawn(results);
    if figures.is_empty() {
        return;
    }
    page.push_str(
        "<h3>Figures</h3>\n<p>Medians, the best on top; the line over a bar is the middle half of the samples. \
         Points instead of bars where the scale is logarithmic. \
         <span class=\"key subject\"></span>ptunnel <span class=\"key variant\"></span>its variants \
         <span class=\"key program\"></span>programs written for this comparison <span class=\"key package\"></span>packages \
         <span class=\"key floor\"></span>the floor, and the control</p>\n<div class=\"plots\">\n",
    );
    for figure in figures {
        page.push_str(&plot::panel(results, &figure, ""));
    }
    page.push_str("</div>\n");
}

fn how(page: &mut String, results: &Results) {
    let machine = &results.machine;
    let pinned = machine.pinned.map_or("not pinned".to_string(), |cores| {
        format!(
            "the peer on core {}, the load on core {}",
            cores.peer, cores.load
        )
    });
    let _ = writeln!(
        page,
        "<h3>How it was measured</h3>\n<dl>\n<dt>Day<dd>{}\n\
         <dt>Machine<dd>{}, {} cores, {}, {} descriptors a process; {pinned}{}\n\
         <dt>Built with<dd>{}, from commit {}\n\
         <dt>To repeat it<dd><code>{}</code>\n\
         <dt>Every sample<dd><code>results.json</code>, {} of them\n\
         <dt>Method and bias<dd><code>benches/METHODOLOGY.md</code>\n</dl>",
        escape(&results.date),
        escape(&machine.cpu),
        machine.cores,
        escape(&machine.kernel),
        machine.descriptors,
        results.load(),
        escape(results.rustc.as_deref().unwrap_or("an unknown rustc")),
        escape(results.commit.as_deref().unwrap_or("unknown")),
        escape(&results.command),
        results.samples.len()
    );
}

/// The class of a difference, and the sign that says it without a colour.
fn sign(difference: Difference) -> (&'static str, &'static str) {
    match difference {
        Difference::Better => ("better", "▲"),
        Difference::Worse => ("worse", "▼"),
        Difference::None => ("none", "≈"),
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::Shown => "unmeasured",
        Verdict::Missed => "missed",
        Verdict::Unmeasured | Verdict::Skipped => "unmeasured",
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::{figure, tests::example};
    use super::super::targets::{judge, target, Against, Bound};
    use super::*;
    use crate::peers::Kind;
    use crate::report::results::Peer;

    fn outcome(rig: &'static str) -> Outcome {
        let figures = [figure("cpu", "µs", "CPU <each>", true)];
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("them", Kind::Package, 2.0),
            ("equal", Kind::Program, 1.0),
        ];
        let mut results = example(&figures, &peers);
        results.rig = rig;
        let lines = judge(
            &[
                target("cpu", Bound::AtMost(0.40), Against::Peer("them")),
                target("cpu", Bound::AtMost(1.00), Against::Peer("equal")),
                target("cpu", Bound::AtMost(1.00), Against::Peer("absent")),
            ],
            &results,
        );
        Outcome { results, lines }
    }

    #[test]
    fn a_page_needs_no_network_and_no_script() {
        let page = render(&[outcome("relay"), outcome("echo")]);
        for word in ["<script", "<link", "src=", "url(", "@import", "https:"] {
            assert!(!page.contains(word), "{word}");
        }
        assert_eq!(
            page.matches("http://").count(),
            page.matches("xmlns=").count()
        );
    }

    #[test]
    fn every_element_that_must_be_closed_is() {
        let page = render(&[outcome("relay"), outcome("echo")]);
        for tag in [
            "section", "table", "svg", "h2", "h3", "p", "ul", "dl", "span", "b", "div", "small",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(page.contains("CPU &lt;each&gt;") && !page.contains("<each>"));
    }

    #[test]
    fn several_rigs_have_a_list_of_contents_that_leads_to_them() {
        let page = render(&[outcome("relay"), outcome("echo"), outcome("relay")]);
        for rig in ["relay", "echo", "relay-2"] {
            assert!(page.contains(&format!("href=\"#{rig}\"")));
            assert!(page.contains(&format!("<section id=\"{rig}\">")));
        }
        assert!(!render(&[outcome("relay")]).contains("<nav"));
    }

    #[test]
    fn each_run_begins_with_who_wins_and_with_why_it_was_taken() {
        let mut further = outcome("relay");
        further.results.folder = Some("rungs".to_string());
        further.results.note_of_folder = Some("After <r3> was mended.".to_string());
        let page = render(&[outcome("relay"), further]);
        let headline = "<p class=\"headline\">CPU &lt;each&gt;: us and equal are level";
        assert_eq!(page.matches(headline).count(), 2, "{page}");
        let in_contents = "<b>CPU &lt;each&gt;: us and equal are level";
        assert_eq!(page.matches(in_contents).count(), 2, "{page}");
        let reason = "After &lt;r3&gt; was mended. Taken with <code>measure it</code>.";
        assert_eq!(page.matches(reason).count(), 1, "{page}");
        assert!(page.contains("<h2>rungs: relay again, 2030-01-02</h2>"));
        assert!(page.contains("<section id=\"rungs\">"));
    }

    /// What is wider than a telephone scrolls by itself and not with the page.
    #[test]
    fn every_table_is_in_a_box_that_scrolls() {
        let page = render(&[outcome("relay"), outcome("echo")]);
        let boxes = page.matches("class=\"wide\"><table").count();
        assert_eq!(page.matches("<table").count(), boxes);
    }

    #[test]
    fn verdicts_and_equality_are_words_and_not_only_colours() {
        let page = render(&[outcome("relay")]);
        assert!(page.contains("1 of 3 targets met, 1 missed, 1 not measured"));
        assert!(
            page.contains("✓ met") && page.contains("✗ missed") && page.contains("not measured")
        );
        assert!(page.contains("<td class=\"better\">▲ 0.50"), "{page}");
        assert!(page.contains("<td class=\"none\">≈ 1.00"), "{page}");
    }

    #[test]
    fn what_is_missing_stands_before_the_answer() {
        let mut one = outcome("relay");
        one.results.peers.push(Peer {
            name: "gone".to_string(),
            version: None,
            missing: Some("not found".to_string()),
            install: "apt-get install gone".to_string(),
            ..one.results.peers[1].clone()
        });
        one.results.quick = true;
        one.results.interrupted = true;
        let page = render(&[one]);
        let at = |text: &str| {
            page.find(text)
                .unwrap_or_else(|| panic!("{text} is not there"))
        };
        let answer = at("1 of 3 targets met");
        for text in [
            "apt-get install gone",
            "A quick run",
            "Interrupted",
            "Not pinned",
        ] {
            assert!(at(text) < answer, "{text}");
        }
    }
}
