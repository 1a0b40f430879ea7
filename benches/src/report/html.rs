//! One page for a run: what is compared, who wins, by how much, how sure. Nothing in it needs a network.

use std::fmt::Write;

use super::plot::{self, escape};
use super::targets::Verdict;
use crate::rigs::Outcome;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem}\
    table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ddd}\
    .met{color:#0a6b2d}.missed{color:#a31515}.unmeasured{color:#666}svg{max-width:100%;height:auto}";

pub fn render(outcomes: &[Outcome]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>ptunnel, measured</title><style>{STYLE}</style>\n"
    );
    for Outcome { results, lines } in outcomes {
        let _ = writeln!(
            page,
            "<h1>{}, {}</h1><p>{}</p>",
            results.rig,
            results.date,
            escape(results.question)
        );
        page.push_str("<table><tr><th>figure<th>ratio<th>target<th></tr>");
        for line in lines {
            let class = match line.verdict {
                Verdict::Met => "met",
                Verdict::Missed => "missed",
                Verdict::Unmeasured => "unmeasured",
            };
            let ratio = line
                .ratio
                .map_or("–".to_string(), |s| format!("{:.2}", s.median));
            let _ = writeln!(
                page,
                "<tr class=\"{class}\"><td>{}<td>{ratio}<td>{}<td>{class}</tr>",
                escape(&line.figure),
                escape(&line.target)
            );
        }
        page.push_str("</table>");
        page.push_str(&plot::render(results));
    }
    page.push_str("</html>\n");
    page
}
