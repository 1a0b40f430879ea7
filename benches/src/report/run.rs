//! Runs rigs: measures each, judges its targets, and writes one page for all.

use std::io;

use super::judge::judge;
use super::page;
use crate::measure::{self, headline, Options, Rig};
use crate::model::Outcome;
use crate::peers::find::project;
use crate::rigs;
use crate::stop::Stop;
use crate::tools::foreign;

/// Runs these rigs one after the other, writes a folder for each and one page for all, and prints their targets.
///
/// # Errors
/// When the machine has other work, and those of the rigs.
pub fn run(rigs: &[&Rig], options: &Options) -> io::Result<()> {
    let stop = Stop::on_signals()?;
    let date = measure::today()?;
    if !options.quick {
        foreign::refuse()?;
    }
    let results = project()?.join("benches/results");
    let out = match (&options.out, options.quick, rigs) {
        (Some(out), ..) => out.clone(),
        (None, true, [rig]) => results.join("tmp").join(rig.name),
        (None, true, _) => results.join("tmp"),
        (None, false, [rig]) => results.join(format!("{}-{date}", rig.name)),
        (None, false, _) => results.join(format!("all-{date}")),
    };
    let mut outcomes = Vec::new();
    for rig in rigs {
        let folder = match rigs {
            [_] => out.clone(),
            _ => out.join(rig.name),
        };
        if !stop.asked() {
            let results = measure::run(rig, &rigs::names(), options, &stop, &folder)?;
            let lines = judge(rig.targets, &results);
            outcomes.push(Outcome { results, lines });
            // Anew after each, so that no accident costs more than one.
            page::write(&out, &outcomes)?;
        }
    }
    eprintln!("results in {}", out.display());
    for outcome in &outcomes {
        if rigs.len() > 1 {
            println!("{}", outcome.results.rig);
        }
        print(outcome);
    }
    Ok(())
}

/// What was met: the lines that end a run.
fn print(Outcome { results, lines }: &Outcome) {
    for note in &results.notes {
        eprintln!("note: {note}");
    }
    for warning in results.warnings() {
        eprintln!("warning: {warning}");
    }
    for (rival, taken, needed) in headline::pairs(results) {
        println!("pairs       {taken} of {needed} that resolve 3 % beside {rival}");
    }
    for line in lines {
        println!("{line}");
    }
}
