//! Runs a rig: finds its peers, samples them in turn, judges its targets, writes what it found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use super::bench::Bench;
use super::progress::Progress;
use super::repeats::disagreements;
use super::rounds::Rounds;
use super::turns::{seed, Turns};
use super::{relay, Group, Rig};
use crate::peers::find::{find, project};
use crate::peers::{spec, Found, Spec};
use crate::report::results::{LeftOut, Peer};
use crate::report::targets::{judge, Line};
use crate::report::{headline, page, Results};
use crate::stop::Stop;
use crate::tools::foreign;
use crate::tools::machine::{raise_descriptors, Cores, Machine};

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub quick: bool,
    pub out: Option<PathBuf>,
    /// Empty for all.
    pub peers: Vec<String>,
    pub peers_file: Option<PathBuf>,
    /// Names of groups; empty for all.
    pub figures: Vec<String>,
    /// A peer that is missing or a sample that fails ends the run with an error.
    pub strict: bool,
    /// The headline has no more rounds than planned.
    pub unpaired: bool,
    /// What the order of turns is drawn from; none for a seed of the run's own.
    pub seed: Option<u64>,
    /// Peers are built from nothing.
    pub clean: bool,
    /// Why the run is taken.
    pub reason: Option<String>,
}

impl Options {
    /// The command line that repeats a run, but for its folder: a path says nothing about the figures.
    pub fn command(&self, rig: &str) -> String {
        let mut text = format!("cargo run --release --manifest-path benches/Cargo.toml -- {rig}");
        if self.quick {
            text.push_str(" --quick");
        }
        if self.clean {
            text.push_str(" --clean");
        }
        if self.peers_file.is_some() {
            text.push_str(" --peers-file FILE");
        }
        if let Some(seed) = self.seed {
            text.push_str(&format!(" --seed {seed}"));
        }
        for (flag, names) in [("--peers", &self.peers), ("--figures", &self.figures)] {
            if !names.is_empty() {
                text.push_str(&format!(" {flag} {}", names.join(",")));
            }
        }
        text
    }
}

/// What a rig found.
#[derive(Debug)]
pub struct Outcome {
    pub results: Results,
    pub lines: Vec<Line>,
}

/// Runs these rigs one after the other, writes a folder for each and one page for all, and prints their targets.
pub fn run(rigs: &[&Rig], options: &Options) -> io::Result<()> {
    let stop = Stop::on_signals()?;
    let date = said("date", &["-u", "+%F"], Path::new("/"))
        .ok_or_else(|| io::Error::other("date failed"))?;
    if !options.quick {
        foreign::refuse()?;
    }
    let name = match rigs {
        [one] => one.name,
        _ => "all",
    };
    let out = match (&options.out, options.quick) {
        (Some(out), _) => out.clone(),
        (None, true) if rigs.len() == 1 => project()?.join("benches/results/tmp").join(name),
        (None, true) => project()?.join("benches/results/tmp"),
        (None, false) => project()?.join(format!("benches/results/{name}-{date}")),
    };
    let mut outcomes = Vec::new();
    for rig in rigs {
        let folder = match rigs {
            [_] => out.clone(),
            _ => out.join(rig.name),
        };
        if !stop.asked() {
            outcomes.push(run_one(rig, options, &date, &stop, &folder)?);
            // Anew after each, so that no accident costs more than one.
            fs::write(out.join("report.html"), page::render(&outcomes))?;
        }
    }
    eprintln!("results in {}", out.display());
    for outcome in &outcomes {
        outcome.tell(rigs.len() > 1);
    }
    Ok(())
}

impl Outcome {
    /// Prints what was met: the lines that end a run.
    fn tell(&self, several: bool) {
        if several {
            println!("{}", self.results.rig);
        }
        for note in &self.results.notes {
            eprintln!("note: {note}");
        }
        for warning in self.results.warnings() {
            eprintln!("warning: {warning}");
        }
        for (rival, taken, needed) in headline::pairs(&self.results) {
            println!("pairs       {taken} of {needed} that resolve 3 % beside {rival}");
        }
        for line in &self.lines {
            println!("{line}");
        }
    }
}

fn run_one(
    rig: &Rig,
    options: &Options,
    date: &str,
    stop: &Stop,
    out: &Path,
) -> io::Result<Outcome> {
    let groups = wanted(rig, &options.figures)?;
    let project = project()?;
    let list = match &options.peers_file {
        Some(file) => fs::read_to_string(file)?,
        None => fs::read_to_string(project.join("benches/peers.toml"))?,
    };
    let all = spec::parse(&list, rig.name, &[])?;
    if options.peers_file.is_none() {
        knows_its_rivals(rig, &all)?;
    }
    let specs = spec::parse(&list, rig.name, &options.peers)?;
    let left_out = left_out(rig, &groups, &all, &specs);
    let scratch = Scratch::new()?;
    let (mut peers, mut missing) = (Vec::new(), Vec::new());
    for spec in specs {
        stop.check()?;
        eprintln!("looking for {}", spec.name);
        // Of those alone whose build time is a figure.
        let clean = options.clean && spec.takes_part(relay::PROGRAM);
        match find(spec, &project, &scratch.0, clean) {
            Ok(peer) => peers.push(peer),
            Err(m) => missing.push(format!(
                "{} is missing: {}; {}",
                m.spec.name,
                m.reason,
                m.spec.install()
            )),
        }
    }
    // A comparison that lacks a peer looks whole.
    if !missing.is_empty() {
        return Err(io::Error::other(missing.join("\n")));
    }

    let descriptors = raise_descriptors();
    let cores = available_parallelism()?.get();
    let pinned = Cores::pick();
    fs::create_dir_all(out)?;
    let mut results = Results {
        rig: rig.name,
        question: rig.question,
        command: options.command(rig.name),
        reason: options.reason.clone(),
        date: date.to_string(),
        quick: options.quick,
        interrupted: false,
        machine: Machine::describe(pinned, descriptors, cores),
        rustc: said("rustc", &["--version"], &project),
        commit: commit(&project),
        seed: Some(options.seed.unwrap_or_else(seed)),
        left_out,
        figures: rig.figures.to_vec(),
        plotted: rig.plotted.to_vec(),
        peers: peers.iter().map(|found| peer(rig, found)).collect(),
        samples: Vec::new(),
        parts: Default::default(),
        notes: Vec::new(),
    };
    if let Some(note) = rig.quick_note.filter(|_| options.quick) {
        results.note(note.to_string());
    }
    let folder = scratch.0.clone();
    let bench = Bench::new(options, pinned, descriptors, folder, stop.clone())?;
    measure(&bench, &peers, &groups, &mut results, out)?;
    results.interrupted = stop.asked();
    finish(rig, results, out)
}

fn peer(rig: &Rig, found: &Found) -> Peer {
    let others = rig.groups.iter().filter(|g| !found.spec.takes_part(g.name));
    let without = others.flat_map(|g| g.figures).map(|f| f.to_string());
    Peer::new(found, without.collect())
}

/// What the rig has and the command line didn't ask for.
fn left_out(rig: &Rig, groups: &[Group], all: &[Spec], specs: &[Spec]) -> LeftOut {
    let asked = |name: &str| groups.iter().any(|g| g.name == name);
    let left = rig.groups.iter().filter(|g| !asked(g.name));
    let named = |spec: &&Spec| !specs.iter().any(|other| other.name == spec.name);
    LeftOut {
        peers: all.iter().filter(named).map(|s| s.name.clone()).collect(),
        figures: left
            .flat_map(|g| g.figures)
            .map(|f| f.to_string())
            .collect(),
    }
}

/// A target that names no peer would never be judged.
fn knows_its_rivals(rig: &Rig, all: &[Spec]) -> io::Result<()> {
    let is_there = |name: &str| all.iter().any(|spec| spec.name == name);
    for target in rig.targets {
        if let Some(name) = target
            .against
            .names()
            .into_iter()
            .find(|name| !is_there(name))
        {
            let text = format!(
                "a target of {} names {name:?}, and no [[{}]] in peers.toml has that name",
                target.figure, rig.name
            );
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}

/// The commit that the project is at, with a word where files differ from it.
fn commit(project: &Path) -> Option<String> {
    let hash = said("git", &["rev-parse", "HEAD"], project)?;
    match said(
        "git",
        &["status", "--porcelain", "--untracked-files=no"],
        project,
    ) {
        Some(_) => Some(format!("{hash}, changed")),
        None => Some(hash),
    }
}

/// The first line that a command says; none when it fails or says nothing.
fn said(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_string)
}

/// The groups of that name, or all of them.
fn wanted(rig: &Rig, only: &[String]) -> io::Result<Vec<Group>> {
    let named = |name: &str| rig.groups.iter().any(|g| g.name == name);
    if let Some(name) = only.iter().find(|name| !named(name)) {
        let known: Vec<&str> = rig.groups.iter().map(|g| g.name).collect();
        let text = format!("no figures {name:?}; {} has {}", rig.name, known.join(", "));
        return Err(io::Error::other(text));
    }
    let wanted = |group: &&Group| only.is_empty() || only.iter().any(|name| name == group.name);
    Ok(rig.groups.iter().filter(wanted).copied().collect())
}

/// Takes every sample that is planned, and writes after each group, so that no accident costs more than one.
fn measure(
    bench: &Bench,
    peers: &[Found],
    groups: &[Group],
    results: &mut Results,
    out: &Path,
) -> io::Result<()> {
    let groups: Vec<Rounds> = groups
        .iter()
        .map(|group| Rounds::of(group, bench, peers, results))
        .collect();
    let mut progress = Progress::new(groups.iter().map(Rounds::expected).sum());
    let mut turns = Turns::new(results.seed.unwrap_or_default());
    for group in &groups {
        group.take(bench, &mut turns, &mut progress, results)?;
        results.write(out)?;
    }
    progress.finish();
    Ok(())
}

fn finish(rig: &Rig, mut results: Results, out: &Path) -> io::Result<Outcome> {
    for zeros in results.zeros() {
        results.note(zeros);
    }
    for warning in disagreements(&results) {
        results.note(warning);
    }
    results.write(out)?;
    let lines = judge(rig.targets, &results);
    Ok(Outcome { results, lines })
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

    #[test]
    fn the_command_repeats_what_decides_the_figures() {
        let options = Options {
            quick: true,
            out: Some("/tmp/x".into()),
            peers: vec!["ptunnel".to_string(), "tokio".to_string()],
            seed: Some(9),
            ..Options::default()
        };
        let command = options.command("relay");
        assert!(
            command.ends_with("-- relay --quick --seed 9 --peers ptunnel,tokio"),
            "{command}"
        );
    }

    #[test]
    fn every_target_names_peers_that_there_are() {
        for rig in crate::rigs::RIGS {
            let all = spec::shipped(rig.name).unwrap();
            knows_its_rivals(rig, &all).unwrap();
        }
        let all = spec::shipped("relay").unwrap();
        let fewer: Vec<Spec> = all.into_iter().filter(|s| s.name != "tokio").collect();
        let e = knows_its_rivals(&relay::RIG, &fewer).unwrap_err();
        assert!(e.to_string().contains("\"tokio\""), "{e}");
    }

    #[test]
    fn what_was_not_asked_for_is_known() {
        let all = spec::shipped("relay").unwrap();
        let groups = wanted(&relay::RIG, &["ping".to_string()]).unwrap();
        let left = left_out(&relay::RIG, &groups, &all, &all[1..]);
        assert_eq!(left.peers, [all[0].name.clone()]);
        assert!(left.figures.contains(&"cpu".to_string()));
        assert!(!left.figures.contains(&"ping-p99".to_string()));
        assert!(left_out(&relay::RIG, relay::RIG.groups, &all, &all).is_empty());
    }

    #[test]
    fn a_filter_keeps_its_groups_and_names_what_there_is() {
        let only = |name: &str| wanted(&relay::RIG, &[name.to_string()]);
        let names: Vec<&str> = only("ping").unwrap().iter().map(|g| g.name).collect();
        assert_eq!(names, ["ping"]);
        assert!(only("pong").unwrap_err().to_string().contains("ping"));
        assert_eq!(
            wanted(&relay::RIG, &[]).unwrap().len(),
            relay::RIG.groups.len()
        );
    }
}
