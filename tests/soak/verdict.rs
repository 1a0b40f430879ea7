//! The verdict: whether anything was lost, and whether the lines are flat.

use std::fmt::{self, Display};
use std::time::Duration;

use crate::counters::Counts;
use crate::watch::{Reading, Sample};
use crate::workload;

/// The resources of each program at a rest, and its use of a processor while idle.
#[derive(Clone, Debug)]
pub struct Rest {
    pub at: Duration,
    pub programs: Vec<Reading>,
    pub idle: Vec<f64>,
}

/// A tunnel takes about a kilobyte, and 250 can be open at once: so much memory can be in use
/// elsewhere than at the first rest. Rung r5 varied by less than half of this. For an hour's
/// 300,000 tunnels it is four bytes each.
const RESIDENT: u64 = 1 << 20;

/// Both ends of eight pipes, which each thread keeps for the next bulk transfer.
const PIPES: usize = 16;

/// Maximum part of a processor that an idle program uses.
const IDLE: f64 = 0.001;

pub struct Verdict {
    pub lines: Vec<String>,
    pub complaints: Vec<String>,
}

impl Verdict {
    pub fn of(
        seed: u64,
        took: Duration,
        names: &[&str],
        counts: &Counts,
        rests: &[Rest],
        samples: &[Sample],
    ) -> Verdict {
        let mut complaints = counts.failures.clone();
        complaints.extend(leaks(names, rests));
        if counts.traffic.len() < workload::KINDS || counts.faults.is_empty() {
            complaints.push("not every kind of traffic took part, or no fault".to_string());
        }
        let lost = match counts.failures.len() {
            0 => "0 bytes lost".to_string(),
            count => format!("{} FAILURES", count),
        };
        let mut lines = vec![format!(
            "soak: seed {}, {} min, {} tunnels, {} GiB, {} faults: {}",
            seed,
            tenths(took.as_secs_f64() / 60.0),
            grouped(counts.tunnels),
            tenths(counts.bytes as f64 / (1u64 << 30) as f64),
            grouped(counts.all_faults()),
            lost
        )];
        for (number, name) in names.iter().enumerate() {
            lines.push(flatness(name, number, rests, samples));
        }
        Verdict { lines, complaints }
    }

    pub fn is_good(&self) -> bool {
        self.complaints.is_empty()
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{}", line)?;
        }
        for complaint in &self.complaints {
            writeln!(f, "FAILED: {}", complaint)?;
        }
        Ok(())
    }
}

pub const MIB: f64 = (1 << 20) as f64;

/// Describes how much a program's lines change: at rest from the first to the last, under traffic
/// in the second half.
fn flatness(name: &str, number: usize, rests: &[Rest], samples: &[Sample]) -> String {
    let at_rest = |value: fn(&Reading) -> f64| {
        let later = rests[1..].iter();
        Range::of(later.map(|rest| value(&rest.programs[number])))
    };
    let resident = at_rest(|reading| reading.resident as f64 / MIB);
    let sockets = at_rest(|reading| reading.sockets as f64);
    let threads = at_rest(|reading| reading.threads as f64);
    let idle = Range::of(rests.iter().map(|rest| rest.idle[number]));
    let used = Range::of(
        samples
            .iter()
            .map(|s| s.programs[number].descriptors() as f64),
    );
    let trend = |value: fn(&Reading) -> f64| {
        let half = samples[samples.len() / 2..].iter();
        let point = |s: &Sample| (s.at.as_secs_f64() / 3600.0, value(&s.programs[number]));
        let (slope, error) = slope(&half.map(point).collect::<Vec<_>>());
        format!("{:+.1} ± {:.1}", slope, error)
    };
    format!(
        "  {}: at rest RSS {:.2}–{:.2} MiB, sockets and files {}–{} after up to {} descriptors, \
         threads {}–{}, CPU up to {:.2} %; under traffic, per hour: RSS {} KiB, descriptors {}",
        name,
        resident.least,
        resident.most,
        sockets.least,
        sockets.most,
        used.most,
        threads.least,
        threads.most,
        idle.most * 100.0,
        trend(|reading| reading.resident as f64 / 1024.0),
        trend(|reading| reading.descriptors() as f64)
    )
}

/// Returns the resources that a later rest holds and the first round didn't, and too much processor
/// time while idle.
fn leaks(names: &[&str], rests: &[Rest]) -> Vec<String> {
    let mut all = Vec::new();
    for (number, name) in names.iter().enumerate() {
        // The first round is a warm-up: resources held after it can stay.
        let (fresh, first) = (rests[0].programs[number], rests[1].programs[number]);
        for rest in &rests[1..] {
            let now = rest.programs[number];
            let mut complain = |what: &str, now: String, allowed: String| {
                all.push(format!(
                    "{} after {} s: {} {}, and {} are allowed",
                    name,
                    rest.at.as_secs(),
                    now,
                    what,
                    allowed
                ));
            };
            if now.sockets > first.sockets {
                complain(
                    "sockets and files",
                    now.sockets.to_string(),
                    first.sockets.to_string(),
                );
            }
            if now.threads > first.threads {
                complain(
                    "threads",
                    now.threads.to_string(),
                    first.threads.to_string(),
                );
            }
            let pipes = fresh.pipes + PIPES * now.threads;
            if now.pipes > pipes {
                complain("ends of pipes", now.pipes.to_string(), pipes.to_string());
            }
            let resident = first.resident + RESIDENT;
            if now.resident > resident {
                complain(
                    "bytes resident",
                    now.resident.to_string(),
                    resident.to_string(),
                );
            }
            let idle = rest.idle[number];
            if idle > IDLE {
                complain("of a processor", idle.to_string(), IDLE.to_string());
            }
        }
    }
    all
}

/// Returns the slope of the least-squares line, and twice its standard error.
pub fn slope(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    if count < 3.0 {
        return (0.0, 0.0);
    }
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread;
    let rest = |p: &(f64, f64)| p.1 - y - slope * (p.0 - x);
    let error: f64 = points.iter().map(|p| rest(p) * rest(p)).sum();
    (slope, 2.0 * (error / (count - 2.0) / spread).sqrt())
}

pub struct Range {
    pub least: f64,
    pub most: f64,
}

impl Range {
    pub fn of(values: impl Iterator<Item = f64>) -> Range {
        let start = Range {
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        };
        values.fold(start, |range, value| Range {
            least: range.least.min(value),
            most: range.most.max(value),
        })
    }
}

/// Formats a number as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn tenths(number: f64) -> String {
    format!("{:.1}", number)
}

#[test]
fn each_leak_is_detected() {
    let reading = Reading {
        resident: 4 << 20,
        sockets: 12,
        pipes: 19,
        threads: 1,
        cpu: Duration::from_secs(1),
    };
    let rest = |reading, idle| Rest {
        at: Duration::from_secs(60),
        programs: vec![reading],
        idle: vec![idle],
    };
    let fresh = Reading {
        pipes: 3,
        ..reading
    };
    let found = |later, idle| {
        let rests = [rest(fresh, 0.0), rest(reading, 0.0), rest(later, idle)];
        leaks(&["it"], &rests).concat()
    };
    assert_eq!(found(reading, 0.0005), "");
    let more = |change: fn(&mut Reading)| {
        let mut later = reading;
        change(&mut later);
        found(later, 0.0)
    };
    assert!(more(|it| it.sockets += 1).contains("13 sockets and files, and 12"));
    assert!(more(|it| it.pipes += 1).contains("20 ends of pipes, and 19"));
    assert!(more(|it| it.threads += 1).contains("2 threads"));
    assert!(more(|it| it.resident += RESIDENT + 1).contains("bytes resident"));
    assert!(found(reading, 0.002).contains("0.002 of a processor"));
}

#[test]
fn a_known_slope_is_computed() {
    let points: Vec<_> = (0..100).map(|x| (x as f64, 3.0 + 2.0 * x as f64)).collect();
    let (found, error) = slope(&points);
    assert!(
        (found - 2.0).abs() < 1e-9 && error < 1e-6,
        "{} {}",
        found,
        error
    );
}

#[test]
fn digits_are_grouped() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(123), "123");
    assert_eq!(grouped(1_234_567), "1,234,567");
}
