//! A whole run: rounds of traffic with a rest after each.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::counters::Counts;
use crate::faults;
use crate::site::{Site, Watched};
use crate::verdict::{Rest, Verdict};
use crate::watch::{Load, Reading, Sample, Watch};
use crate::workload::{self, Field};
use support::traffic::{joined, Dice};
use support::Pattern;

/// Maximum time to wait for unused resources to be freed.
const KEPT: Duration = Duration::from_secs(45);

/// The duration of each part.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub rounds: u32,
    pub round: Duration,
    /// Maximum time between two faults; other pauses are parts of it.
    pub pause: Duration,
    /// Duration of the measurement at rest.
    pub rest: Duration,
    pub interval: Duration,
}

impl Length {
    pub fn short() -> Length {
        Length {
            rounds: 3,
            round: Duration::from_secs(2),
            pause: Duration::from_millis(500),
            rest: Duration::from_millis(300),
            interval: Duration::from_millis(100),
        }
    }

    /// Returns a length with rounds of about five minutes.
    pub fn minutes(minutes: u64) -> Length {
        let rounds = (minutes as u32 / 5).max(3);
        let all = Duration::from_secs(minutes * 60);
        Length {
            rounds,
            round: all / rounds,
            pause: Duration::from_secs(10),
            rest: Duration::from_secs(2),
            // A graph can't show more than a thousand points.
            interval: (all / 1_000).max(Duration::from_millis(100)),
        }
    }

    pub fn within(&self, most: Duration, dice: &mut Dice) -> Duration {
        Duration::from_micros(dice.below(most.as_micros() as u64 + 1))
    }
}

pub struct Finished {
    pub seed: u64,
    pub length: Length,
    pub took: Duration,
    pub names: Vec<&'static str>,
    pub counts: Counts,
    /// The first rest is before any traffic, the others are after a round each.
    pub rests: Vec<Rest>,
    pub samples: Vec<Sample>,
    pub verdict: Verdict,
}

pub fn soak(seed: u64, length: Length) -> Finished {
    let start = Instant::now();
    let mut dice = Dice::new(seed);
    let field = Arc::new(Field {
        site: Site::open(),
        load: Load::default(),
        length,
        pattern: Pattern::new(seed),
    });
    let watched = field.site.watched();
    let names: Vec<_> = watched.iter().map(|program| program.name).collect();
    let watch = Watch::start(field.clone(), start);
    let mut rests = vec![take_rest(&watched, None, start, length.rest)];
    for round in 1..=length.rounds {
        field.site.counters.rest(false);
        // The number of throws in a round depends on time, so the next round gets separate dice.
        let mut dice = dice.fork();
        let lanes = workload::start(&field, &mut dice);
        let proxy = faults::strike(&field.site, &length, &mut dice);
        field.site.counters.rest(true);
        lanes.into_iter().for_each(joined);
        field.site.mortal.kill(proxy);
        rests.push(take_rest(&watched, rests.get(1), start, length.rest));
        let counts = field.site.counters.counts();
        println!(
            "round {} of {}: {} tunnels, {} MiB, {} faults, {} failures",
            round,
            length.rounds,
            counts.tunnels,
            counts.bytes >> 20,
            counts.all_faults(),
            counts.failures.len()
        );
    }
    let samples = watch.finish();
    let field = Arc::try_unwrap(field).unwrap_or_else(|_| panic!("a thread is left"));
    let mut counts = field.site.counters.counts();
    counts.failures.extend(field.site.close());
    let took = start.elapsed();
    let verdict = Verdict::of(seed, took, &names, &counts, &rests, &samples);
    Finished {
        seed,
        length,
        took,
        names,
        counts,
        rests,
        samples,
        verdict,
    }
}

/// Measures the resources of each program at rest, and the processor time of an idle program.
fn take_rest(watched: &[Watched], first: Option<&Rest>, start: Instant, time: Duration) -> Rest {
    let read_all = || {
        let all = watched.iter().map(|each| Reading::of(each.process));
        all.collect::<Vec<_>>()
    };
    let run_times = || watched.iter().map(|each| each.process.run_time());
    let settling: Vec<_> = watched
        .iter()
        .map(|each| each.process)
        .map(|process| thread::spawn(move || process.settle()))
        .collect();
    settling.into_iter().for_each(joined);
    // A runtime can keep a thread for some seconds after its last use, and a proxy that failed last is
    // probed by one after 30 seconds.
    let deadline = Instant::now() + KEPT;
    let is_back = |now: Vec<Reading>| match first {
        Some(first) => now
            .iter()
            .zip(&first.programs)
            .all(|(now, first)| now.threads <= first.threads && now.sockets <= first.sockets),
        None => true,
    };
    while !is_back(read_all()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
    }
    let before: Vec<_> = run_times().collect();
    thread::sleep(time);
    let idle = run_times().zip(before).map(|(now, before)| {
        let spent = now.checked_sub(before).unwrap_or_default();
        spent.as_secs_f64() / time.as_secs_f64()
    });
    Rest {
        at: start.elapsed(),
        idle: idle.collect(),
        programs: read_all(),
    }
}
