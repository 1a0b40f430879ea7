//! Plain relays side by side, ptunnel among them.
//!
//! For each group of figures the peers take turns, round by round; each sample has a fresh relay and a fresh server.
//! A round begins one peer later than the round before, and every other round runs backwards.

pub mod bench;
mod bulk;
mod calls;
mod cpu;
pub mod figures;
mod instructions;
mod memory;
mod ping;
mod plan;
mod tunnels;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::load::pattern::Pattern;
use crate::peers::find::{find, project};
use crate::peers::{spec, Found, Missing};
use crate::report::results::Peer;
use crate::report::{markdown, plot, targets, Results};
use crate::rigs::progress::Progress;
use crate::stop::Stop;
use crate::tools::machine::{raise_descriptors, Cores, Machine};

use bench::{Bench, Taken};
pub use plan::Group;
use plan::{order, Plan};

#[derive(Clone, Debug)]
pub struct Options {
    pub quick: bool,
    pub out: Option<PathBuf>,
    /// Empty for all.
    pub peers: Vec<String>,
    pub peers_file: Option<PathBuf>,
    /// Empty for all.
    pub figures: Vec<Group>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let project = project()?;
    let benches = project.join("benches");
    let stop = Stop::on_signals()?;
    let scratch = Scratch::new()?;
    let list = match &options.peers_file {
        Some(file) => fs::read_to_string(file)?,
        None => fs::read_to_string(benches.join("peers.toml"))?,
    };
    let specs = spec::parse(&list, &options.peers)?;
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
    }

    let descriptors = raise_descriptors();
    let cores = available_parallelism()?.get();
    let pinned = Cores::pick();
    let date = date(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(io::Error::other)?
            .as_secs(),
    );
    let out = options.out.clone().unwrap_or_else(|| match options.quick {
        true => benches.join("results/tmp"),
        false => benches.join(format!("results/relay-{date}")),
    });
    fs::create_dir_all(&out)?;
    let mut results = Results {
        rig: "relay",
        date,
        quick: options.quick,
        interrupted: false,
        machine: Machine::describe(pinned, descriptors, cores),
        figures: figures::FIGURES.to_vec(),
        peers: sides
            .iter()
            .map(|side| side.as_ref().map_or_else(Peer::from, Peer::from))
            .collect(),
        samples: Vec::new(),
        parts: Default::default(),
        notes: Vec::new(),
    };
    if options.quick {
        results.note(memory::QUICK.to_string());
    }
    let peers: Vec<Found> = sides.into_iter().flatten().collect();
    let bench = Bench {
        quick: options.quick,
        cores: pinned,
        descriptors,
        folder: scratch.0.clone(),
        pattern: Pattern::new()?,
        stop: stop.clone(),
    };
    measure(&bench, &peers, &options.figures, &mut results, &out)?;
    results.interrupted = stop.asked();
    finish(&results, &out)
}

/// Takes every sample that is planned, and writes after each group, so that no accident costs more than one.
fn measure(
    bench: &Bench,
    peers: &[Found],
    only: &[Group],
    results: &mut Results,
    out: &Path,
) -> io::Result<()> {
    let plans: Vec<Plan> = plan::plans(bench.quick, only);
    let expected = plans.iter().map(|p| p.expected(peers.len())).sum();
    let mut progress = Progress::new(expected);
    for plan in &plans {
        let begun = Instant::now();
        let mut failed = vec![0; peers.len()];
        for round in 0..plan.rounds {
            let spent = begun.elapsed() > plan.budget;
            for index in order(peers.len(), round) {
                // What no longer fits the time is not begun, but never fewer rounds than a spread needs.
                if (spent && round >= plan.least) || failed[index] == 2 || bench.stop.asked() {
                    progress.step(plan.sample);
                    continue;
                }
                let peer = &peers[index];
                let name = &peer.spec.name;
                let what = format!("{} {}/{} {name}", plan.group.name(), round + 1, plan.rounds);
                progress.tell(&what);
                match plan.group.sample(bench, peer) {
                    Ok(taken) => keep(results, name, round, taken),
                    Err(_) if bench.stop.asked() => {}
                    Err(e) => {
                        failed[index] += 1;
                        results.note(format!("{what}: {e}"));
                    }
                }
                progress.step(plan.sample);
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

fn finish(results: &Results, out: &Path) -> io::Result<()> {
    let lines = targets::judge(figures::TARGETS, results);
    let mut json = serde_json::to_value(results)?;
    json["targets"] = serde_json::to_value(&lines)?;
    fs::write(
        out.join("results.json"),
        serde_json::to_string_pretty(&json)?,
    )?;
    fs::write(out.join("report.md"), markdown::render(results, &lines))?;
    fs::write(
        out.join("plot.svg"),
        plot::render(results, figures::PLOTTED),
    )?;
    eprintln!("results in {}", out.display());
    if results.quick {
        eprintln!("a quick run: its figures are only a smoke test");
    }
    for peer in results.peers.iter().filter(|p| p.missing.is_some()) {
        println!("missing     {}  {}", peer.name, peer.install);
    }
    for note in &results.notes {
        eprintln!("note: {note}");
    }
    for line in &lines {
        println!("{line}");
    }
    Ok(())
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

/// The UTC date of a time in seconds since 1970: days to civil, by Hinnant's algorithm.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_across_leap_days_and_years() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_704_067_199), "2023-12-31");
        assert_eq!(date(1_704_067_200), "2024-01-01");
    }
}
