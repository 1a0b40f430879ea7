//! Renders the page anew from results in folders: after a change of the page, or with several runs on one page.
//!
//! Verdicts are not read but judged anew, against the targets that the rig has today.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::run::{Options, Outcome};
use super::RIGS;
use crate::report::html;
use crate::report::targets::judge;
use crate::report::Results;

/// Writes the page to `out`, or to `report.html` in the first folder, and returns where it is. A folder is that of a
/// rig, or that of a run of several.
pub fn again(folders: &[PathBuf], out: Option<PathBuf>) -> io::Result<PathBuf> {
    let mut outcomes = Vec::new();
    for folder in folders.iter().flat_map(|folder| with_results(folder)) {
        let path = folder.join("results.json");
        let read = fs::read_to_string(&path).and_then(outcome);
        let named = |e| io::Error::other(format!("{}: {e}", path.display()));
        outcomes.push(read.map_err(named)?);
    }
    let first = folders.first().map(PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.unwrap_or(Path::new(".")).join("report.html"));
    fs::write(&out, html::render(&outcomes))?;
    Ok(out)
}

/// The folder itself, or those of the rigs in it.
fn with_results(folder: &Path) -> Vec<PathBuf> {
    let has_results = |folder: &PathBuf| folder.join("results.json").exists();
    let rigs = RIGS.iter().map(|rig| folder.join(rig.name));
    let within: Vec<PathBuf> = rigs.filter(has_results).collect();
    if within.is_empty() {
        vec![folder.to_path_buf()]
    } else {
        within
    }
}

fn outcome(text: String) -> io::Result<Outcome> {
    // The names in it must live as long as the constants of a rig; this process renders them and ends.
    let mut results: Results = serde_json::from_str(text.leak())?;
    let rig = RIGS.iter().find(|rig| rig.name == results.rig);
    let rig = rig.ok_or_else(|| io::Error::other(format!("no rig {:?}", results.rig)))?;
    if results.question.is_empty() {
        results.question = rig.question;
    }
    if results.plotted.is_empty() {
        results.plotted = rig.plotted.to_vec();
    }
    if results.command.is_empty() {
        let command = Options::default().command(rig.name);
        results.command = format!("{command} (further options were not recorded)");
    }
    let lines = judge(rig.targets, &results);
    Ok(Outcome { results, lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Figure;

    const OLD: &str = r#"{
        "rig": "relay", "date": "2026-11-21", "quick": false, "interrupted": true,
        "machine": {"cpu": "one", "cores": 2, "kernel": "Linux 1", "pinned": {"relay": 0, "load": 1}, "descriptors": 9},
        "figures": [{"name": "cpu", "unit": "µs", "title": "CPU", "less_is_better": true}],
        "peers": [
            {"name": "ptunnel", "kind": "subject", "about": "", "splice": true, "same_steps": true, "again": null,
             "start": "", "version": "1", "missing": null, "install": ""},
            {"name": "tokio", "kind": "program", "about": "", "splice": true, "same_steps": true, "again": null,
             "start": "", "version": "1", "missing": null, "install": ""}
        ],
        "samples": [
            {"figure": "cpu", "peer": "ptunnel", "round": 0, "value": 2.0},
            {"figure": "cpu", "peer": "tokio", "round": 0, "value": 4.0}
        ],
        "parts": {"calls": {"tokio": [{"name": "recv", "value": 1.0}]}},
        "notes": [], "targets": []
    }"#;

    #[test]
    fn results_of_before_the_page_existed_can_be_read_and_are_judged() {
        let Outcome { results, lines } = outcome(OLD.to_string()).unwrap();
        assert_eq!(results.plotted, super::super::relay::RIG.plotted);
        assert!(!results.question.is_empty() && results.command.contains("-- relay"));
        assert!(lines[0].to_string().contains("met"), "{}", lines[0]);
        assert_eq!(lines[0].ratio.unwrap().median, 0.5);
        assert!(outcome(OLD.replace("\"relay\", \"date", "\"rely\", \"date")).is_err());
    }

    #[test]
    fn what_is_written_can_be_read() {
        let first = outcome(OLD.to_string()).unwrap().results;
        let text = serde_json::to_string(&first).unwrap();
        let second = outcome(text.clone()).unwrap().results;
        assert_eq!(serde_json::to_string(&second).unwrap(), text);
    }

    /// Names are borrowed from the file's text, which can't be done where JSON needs a backslash.
    #[test]
    fn the_names_of_each_rig_need_no_escapes() {
        for rig in RIGS {
            let figures = serde_json::to_string(rig.figures).unwrap();
            let question = serde_json::to_string(rig.question).unwrap();
            assert!(serde_json::from_str::<Vec<Figure>>(figures.leak()).is_ok());
            assert!(serde_json::from_str::<&str>(&question).is_ok());
        }
    }
}
