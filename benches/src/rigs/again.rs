//! Judges runs again from the samples in their folders, and writes their page again: after a change of a target, of the
//! statistics or of the page, or with several runs on one page. The samples stay as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::run::Outcome;
use super::RIGS;
use crate::report::targets::judge;
use crate::report::{page, Results};

/// Writes the page of these runs to `out`, or to `report.html` in the first folder, and returns where it is. A folder is
/// that of a rig, or that of several runs.
pub fn again(folders: &[PathBuf], out: Option<PathBuf>) -> io::Result<PathBuf> {
    let mut outcomes = Vec::new();
    for folder in folders {
        outcomes.extend(outcomes_of(folder)?);
    }
    let first = folders.first().map(PathBuf::as_path);
    let out = out.unwrap_or_else(|| first.unwrap_or(Path::new(".")).join("report.html"));
    fs::write(&out, page::render(&outcomes))?;
    Ok(out)
}

/// The runs in this folder, in the rigs' order, or the folder itself, as they are judged today.
pub fn outcomes_of(folder: &Path) -> io::Result<Vec<Outcome>> {
    let entries = fs::read_dir(folder)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut within: Vec<PathBuf> = paths
        .filter(|path| path.join("results.json").exists())
        .collect();
    if within.is_empty() {
        within.push(folder.to_path_buf());
    }
    within.sort();
    let mut outcomes = Vec::new();
    for folder in within {
        let results = Results::read(&folder)?;
        let rig = RIGS.iter().find(|rig| rig.name == results.rig);
        let rig = rig.ok_or_else(|| io::Error::other(format!("no rig {:?}", results.rig)))?;
        let lines = judge(rig.targets, &results);
        outcomes.push(Outcome { results, lines });
    }
    outcomes.sort_by_key(|o| RIGS.iter().position(|rig| rig.name == o.results.rig));
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Kind;
    use crate::report::results::tests::{example, CPU};
    use crate::report::Figure;

    #[test]
    fn runs_stand_in_the_rigs_order_and_their_samples_stay() {
        let root = std::env::temp_dir().join(format!("ptunnel-again-{}", std::process::id()));
        for (folder, rig) in [("b", "echo"), ("a", "relay"), ("c", "relay")] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let mut results = example(
                &[CPU],
                &[
                    ("ptunnel", Kind::Subject, 1.0),
                    ("tokio", Kind::Program, 2.0),
                ],
            );
            results.rig = rig;
            for round in 3..6 {
                results.add("ptunnel", round, &[("cpu", 1.0)]);
                results.add("tokio", round, &[("cpu", 2.0)]);
            }
            results.write(&folder).unwrap();
        }
        fs::create_dir_all(root.join("soak")).unwrap();
        let before = fs::read(root.join("a/results.json")).unwrap();
        let outcomes = outcomes_of(&root).unwrap();
        let page = again(std::slice::from_ref(&root), None).unwrap();
        let page = fs::read_to_string(page).unwrap();
        let after = fs::read(root.join("a/results.json")).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let rigs: Vec<_> = outcomes.iter().map(|o| o.results.rig).collect();
        assert_eq!(rigs, ["relay", "relay", "echo"]);
        assert!(
            outcomes[0].lines[0].to_string().starts_with("met"),
            "{}",
            outcomes[0].lines[0]
        );
        assert!(page.contains("<section id=\"relay-2\">"));
        assert_eq!(before, after);
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
