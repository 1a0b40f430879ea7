//! Runs a rig: finds its peers, samples them in turn, judges its targets, writes what it found.
//!
//! For each group of figures the peers take turns, round by round; each sample has a fresh process. A round begins one
//! peer later than the round before, and every other round runs backwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Instant;

use super::bench::{Bench, Taken};
use super::plan::{order, Plan};
use super::progress::Progress;
use super::{Group, Rig};
use crate::load::pattern::Pattern;
use crate::peers::find::{find, project};
use crate::peers::{spec, Found, Missing};
use crate::report::date::today;
use crate::report::results::Peer;
use crate::report::targets::{judge, Line};
use crate::report::{html, markdown, plot, Results};
use crate::stop::Stop;
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
}

impl Options {
    /// The command line that repeats a run, but for its folder: a path says nothing about the figures.
    pub fn command(&self, rig: &str) -> String {
        let mut text = format!("cargo run --release --manifest-path benches/Cargo.toml -- {rig}");
        if self.quick {
            text.push_str(" --quick");
        }
        if self.peers_file.is_some() {
            text.push_str(" --peers-file FILE");
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
    let date = today()?;
    let name = match rigs {
        [one] => one.name,
        _ => "all",
    };
    let out = match (&options.out, options.quick) {
        (Some(out), _) => out.clone(),
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
            fs::write(out.join("report.html"), html::render(&outcomes))?;
        }
    }
    eprintln!("results in {}", out.display());
    if options.quick {
        eprintln!("a quick run: its figures are only a smoke test");
    }
    for outcome in &outcomes {
        outcome.tell(rigs.len() > 1);
    }
    Ok(())
}

impl Outcome {
    /// What is missing and what was met: the lines that end a run.
    fn tell(&self, several: bool) {
        if several {
            println!("{}", self.results.rig);
        }
        for peer in self.results.peers.iter().filter(|p| p.missing.is_some()) {
            println!("missing     {}  {}", peer.name, peer.install);
        }
        for note in &self.results.notes {
            eprintln!("note: {note}");
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
    let specs = spec::parse(&list, rig.name, &options.peers)?;
    let scratch = Scratch::new()?;
    let mut sides: Vec<Result<Found, Box<Missing>>> = Vec::new();
    for spec in specs {
        stop.check()?;
        eprintln!("looking for {}", spec.name);
        sides.push(find(spec, &project, &scratch.0));
    }
    for missing in sides.iter().filter_map(|side| side.as_ref().err()) {
        eprintln!(
            "missing: {}: {}; {}",
            missing.spec.name, missing.reason, missing.spec.install
        );
        if options.strict {
            let text = format!("{} is missing: {}", missing.spec.name, missing.reason);
            return Err(io::Error::other(text));
        }
    }

    let descriptors = raise_descriptors();
    let cores = available_parallelism()?.get();
    let pinned = Cores::pick();
    fs::create_dir_all(out)?;
    let mut results = Results {
        rig: rig.name,
        question: rig.question,
        command: options.command(rig.name),
        date: date.to_string(),
        quick: options.quick,
        interrupted: false,
        machine: Machine::describe(pinned, descriptors, cores),
        figures: rig.figures.to_vec(),
        plotted: rig.plotted.to_vec(),
        peers: sides
            .iter()
            .map(|side| side.as_ref().map_or_else(Peer::from, Peer::from))
            .collect(),
        samples: Vec::new(),
        parts: Default::default(),
        notes: Vec::new(),
    };
    if let Some(note) = rig.quick_note.filter(|_| options.quick) {
        results.note(note.to_string());
    }
    let peers: Vec<Found> = sides.into_iter().flatten().collect();
    let bench = Bench {
        quick: options.quick,
        cores: pinned,
        descriptors,
        folder: scratch.0.clone(),
        pattern: Pattern::new()?,
        stop: stop.clone(),
        strict: options.strict,
    };
    measure(&bench, &peers, &groups, &mut results, out)?;
    results.interrupted = stop.asked();
    finish(rig, results, out)
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
    let plan = |group: &Group| bench.either(group.quick, group.full);
    let asked = |group: &Group| -> Vec<&Found> {
        let takes_part = |peer: &&Found| !peer.spec.without.iter().any(|name| name == group.name);
        peers.iter().filter(takes_part).collect()
    };
    let expected = groups
        .iter()
        .map(|group| plan(group).expected(asked(group).len()))
        .sum();
    let mut progress = Progress::new(expected);
    for group in groups {
        let peers = asked(group);
        let Plan {
            rounds,
            least,
            budget,
            ..
        } = plan(group);
        // The budget may cut a group short: a step is a share of the time that it is expected to take.
        let step = plan(group).expected(peers.len()) / (rounds * peers.len()).max(1) as u32;
        let begun = Instant::now();
        let mut failed = vec![0; peers.len()];
        for round in 0..rounds {
            let spent = begun.elapsed() > budget;
            for index in order(peers.len(), round) {
                // What no longer fits the time is not begun, but never fewer rounds than a spread needs.
                if (spent && round >= least) || failed[index] == 2 || bench.stop.asked() {
                    progress.step(step);
                    continue;
                }
                let name = &peers[index].spec.name;
                let what = format!(
                    "{} {} {}/{rounds} {name}",
                    results.rig,
                    group.name,
                    round + 1
                );
                progress.tell(&what);
                match (group.sample)(bench, peers[index]) {
                    Ok(taken) => keep(results, name, round, taken),
                    Err(_) if bench.stop.asked() => {}
                    Err(e) if bench.strict => {
                        return Err(io::Error::other(format!("{what}: {e}")));
                    }
                    Err(e) => {
                        failed[index] += 1;
                        results.note(format!("{what}: {e}"));
                    }
                }
                progress.step(step);
            }
        }
        fs::write(
            out.join("results.json"),
            serde_json::to_string_pretty(results)?,
        )?;
    }
    progress.finish();
    Ok(())
}

fn keep(results: &mut Results, peer: &str, round: usize, taken: Taken) {
    results.add(peer, round, &taken.values);
    for note in taken.notes {
        results.note(format!("{peer}: {note}"));
    }
    if let Some((figure, parts)) = taken.parts {
        results
            .parts
            .entry(figure)
            .or_default()
            .insert(peer.to_string(), parts);
    }
}

fn finish(rig: &Rig, results: Results, out: &Path) -> io::Result<Outcome> {
    let lines = judge(rig.targets, &results);
    let mut json = serde_json::to_value(&results)?;
    json["targets"] = serde_json::to_value(&lines)?;
    fs::write(
        out.join("results.json"),
        serde_json::to_string_pretty(&json)?,
    )?;
    fs::write(out.join("report.md"), markdown::render(&results, &lines))?;
    fs::write(out.join("plot.svg"), plot::render(&results))?;
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
    use crate::rigs::relay;

    #[test]
    fn the_command_repeats_what_decides_the_figures() {
        let options = Options {
            quick: true,
            out: Some("/tmp/x".into()),
            peers: vec!["ptunnel".to_string(), "tokio".to_string()],
            ..Options::default()
        };
        let command = options.command("relay");
        assert!(
            command.ends_with("-- relay --quick --peers ptunnel,tokio"),
            "{command}"
        );
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
