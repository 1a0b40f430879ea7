//! The report as one static page, without scripts and without the network.

use anyhow::Result;
use minijinja::{context, Environment};
use serde::Serialize;

use super::Report;
use crate::explain;
use crate::finding::Finding;
use crate::table::Severity;

#[derive(Serialize)]
struct Section<'a> {
    title: &'static str,
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

/// The report as a page; names and paths are escaped.
pub fn render(report: &Report) -> Result<String> {
    let mut environment = Environment::new();
    // The name's ending turns escaping on.
    environment.add_template("page.html", include_str!("page.html"))?;
    let sections: Vec<_> = Severity::ALL
        .iter()
        .map(|severity| section(report, *severity))
        .collect();
    Ok(environment
        .get_template("page.html")?
        .render(context! { report, sections })?)
}

fn section(report: &Report, severity: Severity) -> Section<'_> {
    let mut findings: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.severity == severity)
        .collect();
    findings.sort_by_key(|f| (f.row, &f.advice));
    let rows = findings
        .chunk_by(|a, b| (a.row, &a.advice) == (b.row, &b.advice))
        .map(|row| Row {
            number: row[0].row,
            advice: &row[0].advice,
            tests: explain::tests(row[0].row),
            findings: row.to_vec(),
        });
    Section {
        title: severity.title(),
        count: findings.len(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Lock;
    use crate::soundness::Soundness;

    #[test]
    fn the_page_escapes_and_needs_no_network() {
        let lock = Lock {
            reactor: "none",
            broken: vec![],
            advisories: vec![],
            packages: vec![],
            libraries: vec![],
        };
        let finding = Finding {
            file: "src/<b>.rs".into(),
            line: 7,
            column: 1,
            row: 20,
            severity: Severity::Hangs,
            item: "futures::Future::wait".into(),
            advice: "await it".into(),
            sure: false,
        };
        let report = Report {
            project: "a & b".into(),
            lock,
            soundness: Soundness::default(),
            failed: vec![],
            findings: vec![finding],
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
