//! The findings as SARIF 2.1.0, which code review shows beside the lines.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{json, Value};

use super::Report;
use crate::finding::Finding;
use crate::project::repository_of;
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
    let project = Path::new(&report.project);
    let repository = repository_of(project);
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cargo-legacy-scan",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": report.findings.iter().map(|f| result(f, project, &repository)).collect::<Vec<_>>(),
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

fn result(finding: &Finding, project: &Path, repository: &Path) -> Value {
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
            "artifactLocation": { "uri": uri(&project.join(&finding.file), repository) },
            "region": { "startLine": finding.line, "startColumn": finding.column },
        } }],
    })
}

/// The URI of a file: relative to the root of the repository, or absolute outside of it.
fn uri(file: &Path, repository: &Path) -> String {
    let (mut uri, path) = match file.strip_prefix(repository) {
        Ok(path) => (String::new(), path),
        Err(_) => ("file://".to_owned(), file),
    };
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_relative_to_the_repository_and_escaped() {
        let uri = |file| uri(Path::new(file), Path::new("/repository"));
        assert_eq!(
            uri("/repository/a/src/b c#\u{e9}.rs"),
            "a/src/b%20c%23%C3%A9.rs"
        );
        assert_eq!(uri("/beside/a:b.rs"), "file:///beside/a%3Ab.rs");
    }
}
