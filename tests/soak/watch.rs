//! What the programs hold and use over time, and a limit on the use of the whole test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::workload::Field;
use support::traffic::joined;
use support::Process;

/// The part of one processor that this process and the measured programs can use together. Other
/// processes add about a third.
const SHARE: f64 = 0.36;

#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub resident: u64,
    /// Descriptors that aren't ends of pipes, some of which are kept for the next bulk transfer.
    pub sockets: usize,
    pub pipes: usize,
    pub threads: usize,
    pub cpu: Duration,
}

impl Reading {
    pub fn of(process: Process) -> Reading {
        let (all, pipes) = (process.descriptors(), process.pipe_ends());
        Reading {
            resident: process.resident(),
            // The two are read one after the other, so either may have grown.
            sockets: all.saturating_sub(pipes),
            pipes,
            threads: process.threads(),
            cpu: process.cpu(),
        }
    }

    pub fn descriptors(&self) -> usize {
        self.sockets + self.pipes
    }
}

#[derive(Clone, Debug)]
pub struct Sample {
    pub at: Duration,
    pub bytes: u64,
    pub tunnels: u64,
    pub faults: u64,
    pub programs: Vec<Reading>,
}

/// Whether there is processor time for more work: a long test beside other work must use little of
/// a machine.
#[derive(Default)]
pub struct Load {
    is_heavy: AtomicBool,
}

impl Load {
    pub fn is_light(&self) -> bool {
        !self.is_heavy.load(Ordering::SeqCst)
    }
}

pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Watch {
    pub fn start(field: Arc<Field>, start: Instant) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        Watch {
            stop,
            thread: thread::spawn(move || watch(&field, start, &until)),
        }
    }

    pub fn finish(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::SeqCst);
        joined(self.thread)
    }
}

fn watch(field: &Field, start: Instant, stop: &AtomicBool) -> Vec<Sample> {
    let watched = field.site.watched();
    let mut all: Vec<Process> = watched.iter().map(|program| program.process).collect();
    all.push(Process(std::process::id()));
    let spent = || all.iter().map(|each| each.cpu().as_secs_f64()).sum::<f64>();
    // Remaining processor time; at most one second's share is saved up.
    let (mut last, mut before, mut purse) = (Instant::now(), spent(), 0.0);
    let mut samples = Vec::new();
    let mut due = start;
    while !stop.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(50));
        let (now, used) = (Instant::now(), spent());
        purse += (now - last).as_secs_f64() * SHARE - (used - before);
        purse = SHARE.min(purse);
        last = now;
        before = used;
        field.load.is_heavy.store(purse < 0.0, Ordering::SeqCst);
        if now >= due {
            due = now + field.length.interval;
            let counts = field.site.counters.counts();
            samples.push(Sample {
                at: start.elapsed(),
                bytes: counts.bytes,
                tunnels: counts.tunnels,
                faults: counts.all_faults(),
                programs: watched
                    .iter()
                    .map(|program| Reading::of(program.process))
                    .collect(),
            });
        }
    }
    samples
}
