//! Measures a rig: finds its peers, samples them in turn, and writes what it found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use super::bench::Bench;
use super::options::Options;
use super::progress::Progress;
use super::repeats::disagreements;
use super::rig::{Group, Rig};
use super::rounds::Rounds;
use super::turns::{seed, Turns};
use crate::model::{LeftOut, Results};
use crate::peers::find::{find, project};
use crate::peers::{spec, Found, Spec};
use crate::stop::Stop;
use crate::tools::machine::{describe, pick_cores, raise_descriptors};

/// Measures one rig, of those that `peers.toml` may name, and writes its results to `out`.
///
/// # Errors
/// When a peer is missing, when the command line names what there isn't, and in a strict run the first failure.
pub fn run(
    rig: &Rig,
    rigs: &[&str],
    options: &Options,
    stop: &Stop,
    out: &Path,
) -> io::Result<Results> {
    let groups = wanted(rig, &options.figures)?;
    let project = project()?;
    let own = project.join("benches/peers.toml");
    let list = fs::read_to_string(options.peers_file.as_ref().unwrap_or(&own))?;
    let all = spec::parse(&list, rigs, rig.name)?;
    if options.peers_file.is_none() {
        knows_its_rivals(rig, &all)?;
    }
    let specs = spec::named(&all, rig.name, &options.peers)?;
    let left_out = left_out(rig, &groups, &all, &specs);
    let scratch = Scratch::new()?;
    let peers = find_all(rig, specs, options, &scratch.0, stop)?;
    let without = |spec: &Spec| names(rig.groups.iter().filter(|g| !spec.takes_part(g.name)));
    let described = peers.iter().map(|peer| peer.described(without(&peer.spec)));
    let described = described.collect();

    let descriptors = raise_descriptors();
    let cores = available_parallelism()?.get();
    let pinned = pick_cores();
    fs::create_dir_all(out)?;
    let mut results = Results {
        rig: rig.name,
        question: rig.question,
        command: options.command(rig.name),
        reason: options.reason.clone(),
        date: today()?,
        quick: options.quick,
        machine: describe(pinned, descriptors, cores),
        rustc: said("rustc", &["--version"], &project),
        commit: commit(&project),
        seed: Some(options.seed.unwrap_or_else(seed)),
        left_out,
        figures: rig.figures().copied().collect(),
        plotted: rig.plotted.to_vec(),
        peers: described,
        ..Results::default()
    };
    if let Some(note) = rig.quick_note.filter(|_| options.quick) {
        results.note(note.to_string());
    }
    let folder = scratch.0.clone();
    let bench = Bench::new(options, pinned, descriptors, folder, stop.clone())?;
    sample(&bench, &groups, &peers, &mut results, out)?;
    results.interrupted = stop.asked();
    let noticed = results.zeros().into_iter();
    for text in noticed.chain(disagreements(rig, &results)) {
        results.note(text);
    }
    results.write(out)?;
    Ok(results)
}

/// Every peer, or an error that names each that is missing: a comparison that lacks one looks whole.
fn find_all(
    rig: &Rig,
    specs: Vec<Spec>,
    options: &Options,
    scratch: &Path,
    stop: &Stop,
) -> io::Result<Vec<Found>> {
    let project = project()?;
    let (mut peers, mut missing) = (Vec::new(), Vec::new());
    for spec in specs {
        stop.check()?;
        eprintln!("looking for {}", spec.name);
        // From nothing those alone whose build time is a figure.
        let is_timed = |group: &Group| group.has("build") && spec.takes_part(group.name);
        let clean = options.clean && rig.groups.iter().any(is_timed);
        match find(&spec, &project, scratch, clean) {
            Ok(peer) => peers.push(peer),
            Err(why) => {
                let (name, install) = (&spec.name, spec.install());
                missing.push(format!("{name} is missing: {why}; {install}"));
            }
        }
    }
    match missing.is_empty() {
        true => Ok(peers),
        false => Err(io::Error::other(missing.join("\n"))),
    }
}

/// Takes every sample that is planned, and writes after each group, so that no accident costs more than one.
fn sample(
    bench: &Bench,
    groups: &[Group],
    peers: &[Found],
    results: &mut Results,
    out: &Path,
) -> io::Result<()> {
    let rounds = groups.iter().map(|g| Rounds::of(g, bench, peers, results));
    let rounds: Vec<Rounds> = rounds.collect();
    let mut progress = Progress::new(rounds.iter().map(Rounds::expected).sum());
    let mut turns = Turns::new(results.seed.unwrap_or_default());
    for group in &rounds {
        group.take(bench, &mut turns, &mut progress, results)?;
        results.write(out)?;
    }
    progress.finish();
    Ok(())
}

/// What the rig has and the command line didn't ask for.
fn left_out(rig: &Rig, groups: &[Group], all: &[Spec], specs: &[Spec]) -> LeftOut {
    let asked = |name: &str| groups.iter().any(|g| g.name == name);
    let named = |spec: &&Spec| !specs.iter().any(|other| other.name == spec.name);
    LeftOut {
        peers: all.iter().filter(named).map(|s| s.name.clone()).collect(),
        figures: names(rig.groups.iter().filter(|g| !asked(g.name))),
    }
}

/// Those of the groups' figures.
fn names<'a>(groups: impl Iterator<Item = &'a Group>) -> Vec<String> {
    let figures = groups.flat_map(|group| group.figures);
    figures.map(|figure| figure.name.to_string()).collect()
}

/// A target that names no peer would never be judged.
fn knows_its_rivals(rig: &Rig, all: &[Spec]) -> io::Result<()> {
    let is_missing = |name: &&str| !all.iter().any(|spec| spec.name == *name);
    for target in rig.targets {
        if let Some(name) = target.names().into_iter().find(is_missing) {
            let text = format!(
                "a target of {} names {name:?}, and no [[{}]] in peers.toml has that name",
                target.figures, rig.name
            );
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}

/// As in 2030-01-02.
///
/// # Errors
/// When date(1) fails.
pub fn today() -> io::Result<String> {
    let date = said("date", &["-u", "+%F"], Path::new("/"));
    date.ok_or_else(|| io::Error::other("date failed"))
}

/// The commit that the project is at, with a word where files differ from it.
fn commit(project: &Path) -> Option<String> {
    let hash = said("git", &["rev-parse", "HEAD"], project)?;
    let status = ["status", "--porcelain", "--untracked-files=no"];
    match said("git", &status, project) {
        Some(_) => Some(format!("{hash}, changed")),
        None => Some(hash),
    }
}

/// The first line that a command says; none when it fails or says nothing.
fn said(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_string)
}

/// The groups of that name, or all of them.
fn wanted(rig: &Rig, only: &[String]) -> io::Result<Vec<Group>> {
    let known: Vec<&str> = rig.groups.iter().map(|g| g.name).collect();
    if let Some(name) = only.iter().find(|name| !known.contains(&name.as_str())) {
        let text = format!("no figures {name:?}; {} has {}", rig.name, known.join(", "));
        return Err(io::Error::other(text));
    }
    let wanted = |group: &&Group| only.is_empty() || only.iter().any(|name| name == group.name);
    Ok(rig.groups.iter().filter(wanted).copied().collect())
}

/// A folder for executables, configurations and the tools' files, gone with the run.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("ptunnel-benches-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Plan, Taken};
    use crate::model::{less, shown, Figure};

    const A: Figure = less("a", "s", "");
    const B: Figure = less("b", "s", "");

    const fn group(name: &'static str, figures: &'static [Figure]) -> Group {
        Group {
            name,
            figures,
            sample: |_, _| Ok(Taken::default()),
            quick: Plan::quick(1, 1, 1),
            full: Plan::full(1, 1, 1),
        }
    }

    const RIG: Rig = Rig {
        name: "relay",
        question: "",
        plotted: &[],
        targets: &[shown("a", "tokio")],
        groups: &[group("first", &[A]), group("second", &[B])],
        repeats: &[],
        quick_note: None,
    };

    fn peers(names: &[&str]) -> Vec<Spec> {
        let entry = |name: &&str| {
            format!("[[relay]]\nname = '{name}'\nkind = 'program'\nabout = ''\nstart = ['x']\nbuild = 'x'\n")
        };
        let list: String = names.iter().map(entry).collect();
        spec::parse(&list, &[], "relay").unwrap()
    }

    #[test]
    fn a_target_names_a_peer_that_there_is() {
        knows_its_rivals(&RIG, &peers(&["may", "tokio"])).unwrap();
        let e = knows_its_rivals(&RIG, &peers(&["may"])).unwrap_err();
        assert!(e.to_string().contains("\"tokio\""), "{e}");
    }

    #[test]
    fn what_was_not_asked_for_is_known() {
        let all = peers(&["may", "tokio"]);
        let groups = wanted(&RIG, &["second".to_string()]).unwrap();
        let left = left_out(&RIG, &groups, &all, &all[1..]);
        assert_eq!(
            (left.peers, left.figures),
            (vec!["may".to_string()], vec!["a".to_string()])
        );
        assert!(left_out(&RIG, RIG.groups, &all, &all).is_empty());
    }

    #[test]
    fn a_filter_keeps_its_groups_and_names_what_there_is() {
        let only = |name: &str| wanted(&RIG, &[name.to_string()]);
        assert_eq!(only("second").unwrap()[0].name, "second");
        assert!(only("third")
            .unwrap_err()
            .to_string()
            .contains("first, second"));
        assert_eq!(wanted(&RIG, &[]).unwrap().len(), 2);
    }
}
