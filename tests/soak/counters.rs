//! Counters of carried bytes, of faults that were made on purpose, and of errors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use crate::jobs::Passed;

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub tunnels: u64,
    /// Bytes that arrived at their destination, and were right.
    pub bytes: u64,
    /// Tunnels that ended before their plan was complete, because of a fault.
    pub torn: u64,
    /// By kind: the number of tunnels of each traffic, and the number of each fault.
    pub traffic: BTreeMap<&'static str, u64>,
    pub faults: BTreeMap<&'static str, u64>,
    /// Failures that no fault explains.
    pub failures: Vec<String>,
}

impl Counts {
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

#[derive(Default)]
pub struct Counters {
    counts: Mutex<Counts>,
    /// The traffic must rest: no new tunnels, and no pauses in existing ones.
    resting: AtomicBool,
}

impl Counters {
    /// Counts tunnels that ended as expected.
    pub fn carried(&self, kind: &'static str, passed: Passed) {
        let mut counts = self.counts.lock().unwrap();
        counts.tunnels += passed.tunnels;
        counts.bytes += passed.bytes;
        counts.torn += !passed.is_whole as u64;
        *counts.traffic.entry(kind).or_insert(0) += passed.tunnels;
    }

    pub fn fault(&self, kind: &'static str) {
        let mut counts = self.counts.lock().unwrap();
        *counts.faults.entry(kind).or_insert(0) += 1;
    }

    pub fn failure(&self, text: String) {
        eprintln!("FAILURE: {}", text);
        self.counts.lock().unwrap().failures.push(text);
    }

    pub fn counts(&self) -> Counts {
        self.counts.lock().unwrap().clone()
    }

    pub fn rest(&self, is_to_rest: bool) {
        self.resting.store(is_to_rest, Ordering::SeqCst);
    }

    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::SeqCst)
    }
}
