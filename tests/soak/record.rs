//! The record of a run: a report, its graph, and all samples.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::plot;
use crate::run::Finished;
use crate::verdict::{grouped, tenths};
use crate::watch::Reading;
use support::program::binary;
use support::TempDir;

/// Creates the folder; refuses one that already contains a record.
pub fn claim(folder: &Path) -> Result<(), String> {
    let failed = |e| format!("{}: {}", folder.display(), e);
    fs::create_dir_all(folder).map_err(failed)?;
    match fs::read_dir(folder).map_err(failed)?.next() {
        Some(_) => Err(format!(
            "{} holds a record already: name another folder, make soak SOAK=FOLDER",
            folder.display()
        )),
        None => Ok(()),
    }
}

pub fn write(folder: &Path, finished: &Finished) {
    let files = [
        ("report.md", report(finished)),
        ("plot.svg", plot::render(finished)),
        ("soak.json", json(finished)),
    ];
    for (name, content) in &files {
        fs::write(folder.join(name), content).expect("a file of the record");
    }
}

fn report(finished: &Finished) -> String {
    let counts = &finished.counts;
    let outcome = if finished.verdict.is_good() {
        "held"
    } else {
        "FAILED"
    };
    let mut text = format!(
        "# Soak: {}\n\nMixed traffic with faults at random, {} minutes in {} rounds with a rest after each. \
         Each byte was compared with the one that was sent.\n\n```\n{}```\n\n![RSS, descriptors and CPU over time](plot.svg)\n\n",
        outcome,
        tenths(finished.took.as_secs_f64() / 60.0),
        finished.length.rounds,
        finished.verdict
    );
    let _ = writeln!(
        text,
        "Repeat it with `make soak MINUTES={} SEED={}`; with the same seed each lane of traffic, and the faults, \
         go through the same list in each round, as far as time allows.\n",
        (finished.length.round * finished.length.rounds).as_secs() / 60,
        finished.seed
    );
    for line in machine() {
        let _ = writeln!(text, "- {}", line);
    }
    text.push_str("\n## At rest\n\nAfter each round all tunnels are closed: what a program holds then it would hold for ever. The first line is from before the traffic, and the second, after a round that warms up, is what the others are held against.\n");
    for (number, name) in finished.names.iter().enumerate() {
        let _ = writeln!(
            text,
            "\n{}:\n\n| minute | RSS, KiB | sockets and files | pipe ends | threads | CPU, % |\n|---|---|---|---|---|---|",
            name
        );
        for rest in &finished.rests {
            let reading = rest.programs[number];
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {:.2} |",
                tenths(rest.at.as_secs_f64() / 60.0),
                reading.resident / 1024,
                reading.sockets,
                reading.pipes,
                reading.threads,
                rest.idle[number] * 100.0
            );
        }
    }
    let _ = writeln!(
        text,
        "\n## What was carried\n\n{} tunnels, {} MiB seen at their other end; {} ended before their plan did, each through a fault, \
         and of each a prefix had arrived.\n\n| traffic | tunnels |\n|---|---|",
        grouped(counts.tunnels),
        grouped(counts.bytes >> 20),
        grouped(counts.torn)
    );
    for (kind, count) in &counts.traffic {
        let _ = writeln!(text, "| {} | {} |", kind, grouped(*count));
    }
    text.push_str("\n## Faults\n\n| fault | times |\n|---|---|\n");
    for (kind, count) in &counts.faults {
        let _ = writeln!(text, "| {} | {} |", kind, grouped(*count));
    }
    text
}

/// Returns versions, without the machine's name.
fn machine() -> Vec<String> {
    let first_line = |command: &mut Command| {
        let output = command.output().expect("a version");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().unwrap_or_default().to_string()
    };
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut models = info.lines().filter_map(|line| {
        let mut halves = line.splitn(2, ':');
        let is_model = halves.next()?.trim() == "model name";
        halves.next().filter(|_| is_model).map(str::trim)
    });
    let model = models.next().unwrap_or("unknown").to_string();
    vec![
        first_line(Command::new(binary()).arg("--version")),
        first_line(Command::new("squid").arg("-v")),
        format!("{} processors, {}", models.count() + 1, model),
        first_line(Command::new("uname").arg("-sr")),
        first_line(Command::new("date").args(&["-u", "+%F"])),
    ]
}

fn json(finished: &Finished) -> String {
    let counts = &finished.counts;
    let mut text = String::from("{\n");
    let _ = writeln!(
        text,
        "\"seed\": {}, \"seconds\": {:.1}, \"tunnels\": {}, \"bytes\": {}, \"torn\": {},",
        finished.seed,
        finished.took.as_secs_f64(),
        counts.tunnels,
        counts.bytes,
        counts.torn
    );
    let quoted = |text: &String| format!("{:?}", text);
    let machine = machine();
    let lists = [
        ("machine", machine.iter().map(quoted).collect::<Vec<_>>()),
        (
            "complaints",
            finished.verdict.complaints.iter().map(quoted).collect(),
        ),
    ];
    for (name, values) in &lists {
        let _ = writeln!(text, "\"{}\": [{}],", name, values.join(", "));
    }
    for (name, kinds) in &[("traffic", &counts.traffic), ("faults", &counts.faults)] {
        let kinds = kinds.iter();
        let kinds = kinds.map(|(kind, count)| format!("{:?}: {}", kind, count));
        let kinds: Vec<_> = kinds.collect();
        let _ = writeln!(text, "\"{}\": {{{}}},", name, kinds.join(", "));
    }
    text.push_str("\"rests\": [\n");
    let rests: Vec<_> = finished
        .rests
        .iter()
        .map(|rest| {
            let idle: Vec<_> = rest
                .idle
                .iter()
                .map(|part| format!("{:.5}", part))
                .collect();
            format!(
                "{{\"at\": {:.2}, \"idle\": [{}], \"programs\": [{}]}}",
                rest.at.as_secs_f64(),
                idle.join(", "),
                readings(&rest.programs)
            )
        })
        .collect();
    text.push_str(&rests.join(",\n"));
    let names: Vec<_> = finished
        .names
        .iter()
        .map(|name| format!("{:?}", name))
        .collect();
    let _ = writeln!(
        text,
        "\n],\n\"programs\": [{}],\n\"reading\": [\"resident\", \"sockets\", \"pipe ends\", \"threads\", \"cpu seconds\"],\n\
         \"sample\": [\"seconds\", \"bytes\", \"tunnels\", \"faults\", \"readings\"],\n\"samples\": [",
        names.join(", ")
    );
    let samples: Vec<_> = finished
        .samples
        .iter()
        .map(|sample| {
            format!(
                "[{:.2}, {}, {}, {}, [{}]]",
                sample.at.as_secs_f64(),
                sample.bytes,
                sample.tunnels,
                sample.faults,
                readings(&sample.programs)
            )
        })
        .collect();
    text.push_str(&samples.join(",\n"));
    text.push_str("\n]\n}\n");
    text
}

fn readings(all: &[Reading]) -> String {
    let all: Vec<_> = all
        .iter()
        .map(|reading| {
            format!(
                "[{}, {}, {}, {}, {:.2}]",
                reading.resident,
                reading.sockets,
                reading.pipes,
                reading.threads,
                reading.cpu.as_secs_f64()
            )
        })
        .collect();
    all.join(", ")
}

/// Regression: a run of one minute replaced the hour that had been recorded on the same day.
#[test]
fn a_record_is_not_replaced() {
    let parent = TempDir::new();
    let folder = parent.path().join("day/soak");
    claim(&folder).expect("a new folder");
    claim(&folder).expect("an empty one, of a run that was broken off");
    fs::write(folder.join("report.md"), "an hour").expect("a file of the record");
    let told = claim(&folder).expect_err("it would be lost");
    assert!(told.contains("make soak SOAK=FOLDER"), "{}", told);
}
