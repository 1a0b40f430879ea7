//! The findings as SARIF 2.1.0, which code review shows beside the lines.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{json, Value};

use super::Report;
use crate::finding::Finding;
use crate::table::Severity;

/// The report as a SARIF log with one run.
pub fn render(report: &Report) -> Result<String> {
    let ids: BTreeMap<_, _> = report.findings.iter().map(|f| (rule_id(f), f)).collect();
    let rules: Vec<Value> = ids
        .iter()
        .map(|(id, f)| {
            json!({
                "id": id,
                "shortDescription": { "text": format!("row {}: {}", f.row, f.advice) },
                "defaultConfiguration": { "level": level(f.severity) },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cargo-legacy-scan",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

/// A row has a rule for each severity.
fn rule_id(finding: &Finding) -> String {
    format!(
        "row-{}-{}",
        finding.row,
        finding.severity.title().replace(' ', "-")
    )
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Hangs => "error",
        Severity::Compile | Severity::Silent => "warning",
        Severity::Mechanical => "note",
    }
}

fn result(finding: &Finding) -> Value {
    let unsure = if finding.sure {
        ""
    } else {
        " (unsure: the package does not compile)"
    };
    json!({
        "ruleId": rule_id(finding),
        "level": level(finding.severity),
        "message": { "text": format!("{}, {}: {}{unsure}", finding.item, finding.severity.title(), finding.advice) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": finding.file.replace(' ', "%20") },
            "region": { "startLine": finding.line, "startColumn": finding.column },
        } }],
    })
}
