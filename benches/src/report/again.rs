//! Judges runs again from the samples in their folders, and writes their page again: after a change of a target, of the
//! statistics or of the page, or with several runs on one page. The samples stay as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::judge::judge;
use super::page;
use crate::model::{Outcome, Results};
use crate::rigs::{self, RIGS};

/// Writes the page of these runs to `out`, or to the first folder with its plot, and returns where it is. A folder is that of
/// a rig, or that of several runs.
///
/// # Errors
/// When there is no run in a folder.
pub fn again(folders: &[PathBuf], out: Option<PathBuf>) -> io::Result<PathBuf> {
    let mut outcomes = Vec::new();
    for folder in folders {
        outcomes.extend(outcomes_of(folder)?);
    }
    match out {
        Some(out) => fs::write(&out, page::render(&outcomes)).map(|()| out),
        None => page::write(&folders[0], &outcomes),
    }
}

/// The runs in this folder, in the rigs' order, or the folder itself, as they are judged today.
///
/// # Errors
/// When there is none, or one can't be read.
pub fn outcomes_of(folder: &Path) -> io::Result<Vec<Outcome>> {
    let outcomes = any_of(folder)?;
    if outcomes.is_empty() {
        let text = format!("{} has no results", folder.display());
        return Err(io::Error::other(text));
    }
    Ok(outcomes)
}

/// The same, or none.
pub fn any_of(folder: &Path) -> io::Result<Vec<Outcome>> {
    let entries = fs::read_dir(folder)?;
    let mut within: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    within.push(folder.to_path_buf());
    within.retain(|path| path.join("results.json").exists());
    within.sort();
    let mut outcomes = Vec::new();
    for folder in within {
        let results = Results::read(&folder)?;
        let unknown = || io::Error::other(format!("no rig {:?}", results.rig));
        let rig = rigs::named(results.rig).ok_or_else(unknown)?;
        let lines = judge(rig.targets, &results);
        outcomes.push(Outcome { results, lines });
    }
    outcomes.sort_by_key(|o| RIGS.iter().position(|rig| rig.name == o.results.rig));
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::{example, CPU};
    use crate::model::Kind;

    #[test]
    fn runs_stand_in_the_rigs_order_and_their_samples_stay() {
        let root = std::env::temp_dir().join(format!("ptunnel-again-{}", std::process::id()));
        for (folder, rig) in [("b", "echo"), ("a", "relay"), ("c", "relay")] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let peers = [
                ("ptunnel", Kind::Subject, 1.0),
                ("tokio", Kind::Program, 2.0),
            ];
            let mut results = example(&[CPU], &peers);
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
        assert!(outcomes_of(&root.join("soak")).is_err());
        fs::remove_dir_all(&root).unwrap();
        let rigs: Vec<_> = outcomes.iter().map(|o| o.results.rig).collect();
        assert_eq!(rigs, ["relay", "relay", "echo"]);
        let line = outcomes[0].lines[0].to_string();
        assert!(line.starts_with("met"), "{line}");
        assert!(page.contains("<section id=\"relay-2\">"));
        assert_eq!(before, after);
    }
}
