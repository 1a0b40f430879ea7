//! The report as one static page, without scripts and without the network.

use anyhow::Result;
use minijinja::{context, Environment};
use serde::Serialize;

use super::Report;
use crate::explain;
use crate::finding::Finding;
use crate::plan::Cost;
use crate::size::Share;
use crate::table::Severity;

#[derive(Serialize)]
struct Section<'a> {
    title: &'static str,
    meaning: &'static str,
    count: usize,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    number: u32,
    advice: &'a str,
    tests: Vec<&'static str>,
    findings: Vec<&'a Finding>,
}

impl<'a> Row<'a> {
    fn of(findings: Vec<&'a Finding>) -> Self {
        let first = findings[0];
        Self {
            number: first.row,
            advice: &first.advice,
            tests: explain::tests(first.row),
            findings,
        }
    }
}

/// The report as a page; names and paths are escaped.
pub fn render(report: &Report) -> Result<String> {
    let mut environment = Environment::new();
    // The name's ending turns escaping on.
    environment.add_template("page.html", include_str!("page.html"))?;
    let sections: Vec<_> = Severity::ALL
        .iter()
        .map(|severity| section(report, *severity))
        .collect();
    let share = |name, share: &Share| {
        context! { name, touch => share.touch, all => share.all, percent => share.percent() }
    };
    let size = &report.size;
    let size = [
        share("files", &size.files),
        share("functions", &size.functions),
        share("lines that name an item", &size.lines),
        share("lines of those functions", &size.function_lines()),
    ];
    let holders = report.lock.holders.iter().map(|holder| {
        let source = holder.successor.as_ref().map(|next| &next.source);
        context! { summary => holder.summary(), source, reach => holder.reach.description() }
    });
    let holders: Vec<_> = holders.collect();
    let lists = report.seams.described();
    let seams = lists
        .into_iter()
        .map(|(title, places)| context! { title, places });
    let seams: Vec<_> = seams.collect();
    let costs = report.plan.effort.costs.iter();
    let costs: Vec<_> = costs.map(Cost::summary).collect();
    let effort = report.plan.effort.summary();
    let page = environment.get_template("page.html")?;
    Ok(page.render(context! { report, sections, size, holders, seams, effort, costs })?)
}

fn section(report: &Report, severity: Severity) -> Section<'_> {
    let rows = report.rows(severity);
    Section {
        title: severity.title(),
        meaning: severity.meaning(),
        count: rows.iter().map(Vec::len).sum(),
        rows: rows.into_iter().map(Row::of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_escapes_and_needs_no_network() {
        let finding = Finding {
            file: "src/<b>.rs".into(),
            line: 7,
            column: 1,
            row: 20,
            severity: Severity::Hangs,
            item: "futures::Future::wait".into(),
            advice: "await it".into(),
            sure: false,
            in_test: true,
        };
        let report = Report {
            project: "a & b".into(),
            findings: vec![finding],
            ..Report::default()
        };
        let page = render(&report).unwrap();
        for part in [
            "a &amp; b",
            "src&#x2f;&lt;b&gt;.rs:7:1",
            "row_20_to_wait",
            "unsure",
            "hangs",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<b>") && !page.contains("http") && !page.contains("<script"));
    }
}
