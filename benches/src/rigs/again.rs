//! Judges runs anew from the samples in their folders, and writes their reports anew: after a change of a target, of the
//! statistics or of the page, or with several runs on one page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::run::{write, Options, Outcome};
use super::RIGS;
use crate::report::html;
use crate::report::targets::judge;
use crate::report::Results;

/// In a run's folder: why it was taken, where the figures can't say it.
const NOTE: &str = "note";

/// Writes each run's reports to its folder and the page to `out`, or to `report.html` in the first folder, and returns
/// where the page is. A folder is that of a rig, or that of several runs.
pub fn again(folders: &[PathBuf], out: Option<PathBuf>) -> io::Result<PathBuf> {
    let mut outcomes = Vec::new();
    for folder in folders.iter().flat_map(|folder| folders_of_runs(folder)) {
        let outcome = outcome_of(&folder)?;
        let samples = fs::read_to_string(folder.join("results.json"))?;
        write(&outcome, serde_json::from_str(&samples)?, &folder)?;
        outcomes.push(outcome);
    }
    let first = folders.first().map(PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.unwrap_or(Path::new(".")).join("report.html"));
    fs::write(&out, html::render(&outcomes))?;
    Ok(out)
}

/// The folders in this one that have results: each rig's own run, in the rigs' order, and behind it further runs of it. Or
/// the folder itself.
pub(super) fn folders_of_runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut within: Vec<PathBuf> = paths
        .filter(|path| path.join("results.json").exists())
        .collect();
    if within.is_empty() {
        return vec![folder.to_path_buf()];
    }
    within.sort_by_cached_key(|path| {
        let rig = rig_of(path).unwrap_or_default();
        let place = RIGS.iter().position(|known| known.name == rig);
        (place, !path.ends_with(&rig), path.clone())
    });
    within
}

/// The rig that a folder's results are of.
fn rig_of(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("results.json")).ok()?;
    let results: Value = serde_json::from_str(&text).ok()?;
    results["rig"].as_str().map(str::to_string)
}

/// What a folder's results say today.
pub(super) fn outcome_of(folder: &Path) -> io::Result<Outcome> {
    let path = folder.join("results.json");
    let named = |e: io::Error| io::Error::other(format!("{}: {e}", path.display()));
    let mut outcome = fs::read_to_string(&path).and_then(outcome).map_err(named)?;
    let results = &mut outcome.results;
    results.note_of_folder = fs::read_to_string(folder.join(NOTE))
        .ok()
        .map(|text| text.trim().to_string());
    // A rig's own run has the rig's name, or the one that it was given on the command line.
    let name = folder.file_name().and_then(|name| name.to_str());
    let beside = |name: &&str| {
        let own = folder.with_file_name(results.rig);
        *name != results.rig && own.join("results.json").exists()
    };
    results.folder = name.filter(beside).map(str::to_string);
    Ok(outcome)
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

    /// A folder of its own with runs in it: folder, rig, note.
    fn runs(name: &str, runs: &[(&str, &str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("ptunnel-{name}-{}", std::process::id()));
        for (folder, rig, note) in runs {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let text = OLD.replace("\"relay\", \"date", &format!("\"{rig}\", \"date"));
            fs::write(folder.join("results.json"), text).unwrap();
            if !note.is_empty() {
                fs::write(folder.join(NOTE), note).unwrap();
            }
        }
        root
    }

    #[test]
    fn further_runs_of_a_rig_stand_behind_it_with_their_name_and_reason() {
        let root = runs(
            "further",
            &[
                ("another", "relay", "because\n"),
                ("echo", "echo", ""),
                ("relay", "relay", ""),
                ("second", "relay", ""),
            ],
        );
        fs::create_dir_all(root.join("soak")).unwrap();
        let found = folders_of_runs(&root);
        let names: Vec<&str> = found
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["relay", "another", "second", "echo"]);
        let page = again(std::slice::from_ref(&root), None).unwrap();
        let page = fs::read_to_string(page).unwrap();
        let report = fs::read_to_string(root.join("another/report.md")).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert!(page.contains("<section id=\"another\">"), "{page}");
        assert!(page.contains("because") && report.contains("because"));
        assert!(report.starts_with("# another: relay again, "), "{report}");
    }

    #[test]
    fn a_run_that_is_alone_has_its_rigs_name() {
        let root = runs("alone", &[("some-run", "relay", "")]);
        let outcome = outcome_of(&root.join("some-run")).unwrap();
        assert_eq!(outcome.results.title(), "relay");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn samples_stay_as_they_are_and_verdicts_are_judged_anew() {
        let root = runs("anew", &[("relay", "relay", "")]);
        let path = root.join("relay/results.json");
        let read = || serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut before = read();
        before["samples"][0]["value"] = Value::from(0.1 + 0.2);
        fs::write(&path, before.to_string()).unwrap();
        again(std::slice::from_ref(&root), None).unwrap();
        let after = read();
        for name in ["report.md", "plot.svg"] {
            assert!(root.join("relay").join(name).exists(), "{name}");
        }
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(after["samples"], before["samples"]);
        assert_eq!(before["targets"], Value::from(Vec::<Value>::new()));
        assert_eq!(after["targets"][0]["verdict"], "met");
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
