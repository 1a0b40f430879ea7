//! The rungs of the ladder in one run of the relay rig, and the tables of the course that are made of it.

mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{relay, run, Options};
use crate::peers::find::project;
use crate::report::markers::fill;
use crate::report::Results;

/// Of the relay rig, in the order of the columns.
const PEERS: &[&str] = &["ptunnel", "r0", "r1", "r2", "r3", "r4", "r5", "tokio"];
/// Measured beside them, CPU alone: the detour of r0.
const DETOUR: &str = "r0-0.1.18";
const GROUPS: &[&str] = &[
    "cpu",
    "instructions",
    "calls",
    "tunnels",
    "ping",
    "memory",
    "start",
    "program",
];

/// The page that has the tables, in the project's folder.
const PAGE: &str = "compat/ladder/README.md";
/// Where the samples are that the tables are made of.
const KEPT: &str = "benches/results/ladder";
/// Where a run leaves all of its files.
const SCRATCH: &str = "benches/results/tmp/ladder";

/// Runs the relay rig with the rungs; `options` may name other peers and figures. The samples are kept, but for those of
/// a quick run or one with its own folder.
///
/// # Errors
///
/// Those of the rig.
pub fn measure(options: Options) -> io::Result<()> {
    let names = |given: Vec<String>, own: &mut dyn Iterator<Item = &&str>| match given.is_empty() {
        true => own.map(|name| name.to_string()).collect(),
        false => given,
    };
    let is_kept = options.out.is_none() && !options.quick;
    let out = options.out.unwrap_or(project()?.join(SCRATCH));
    let options = Options {
        peers: names(options.peers, &mut PEERS.iter().chain([&DETOUR])),
        figures: names(options.figures, &mut GROUPS.iter()),
        out: Some(out.clone()),
        unpaired: true,
        ..options
    };
    run(&[&relay::RIG], &options)?;
    if is_kept {
        let kept = project()?.join(KEPT);
        fs::create_dir_all(&kept)?;
        fs::copy(out.join("results.json"), kept.join("results.json"))?;
    }
    Ok(())
}

/// Writes the tables into the page, from the run in `folder`, or from the one that is kept.
///
/// # Errors
///
/// When the folder has no run of the relay rig, or the page has no place for a table.
pub fn write(folder: Option<PathBuf>) -> io::Result<()> {
    let project = project()?;
    let path = project.join(PAGE);
    let folder = folder.unwrap_or_else(|| project.join(KEPT));
    let text = with_tables(&fs::read_to_string(&path)?, &folder)?;
    fs::write(path, text)
}

fn with_tables(page: &str, folder: &Path) -> io::Result<String> {
    let results = Results::read(folder)?;
    let page = fill(page, "ladder", &tables::ladder(&results))?;
    fill(&page, "reactor", &tables::reactor(&results))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table is written by the rig alone, and a new run is written into the page.
    #[test]
    fn the_page_has_the_tables_of_the_run_that_is_kept() {
        let project = project().unwrap();
        let page = fs::read_to_string(project.join(PAGE)).unwrap();
        let written = with_tables(&page, &project.join(KEPT)).unwrap();
        assert_eq!(written, page, "rigs ladder --write");
    }

    #[test]
    fn every_peer_and_group_is_the_relay_rigs() {
        let peers = crate::peers::spec::shipped(relay::RIG.name).unwrap();
        for name in PEERS.iter().chain([&DETOUR]) {
            assert!(peers.iter().any(|peer| peer.name == *name), "{name}");
        }
        for name in GROUPS {
            assert!(relay::RIG.groups.iter().any(|g| g.name == *name), "{name}");
        }
    }
}
