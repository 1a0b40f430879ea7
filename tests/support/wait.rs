//! Waiting for a condition, with an outer limit that only a broken program reaches.

use std::thread;
use std::time::{Duration, Instant};

/// Limit of every wait: far above the need of a loaded machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns once `condition` holds; panics with `what` if it never does.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || if condition() { Some(()) } else { None })
}

/// Returns the value that `probe` finds; panics with `what` if it never finds one.
#[track_caller]
pub fn eventually_some<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(found) = probe() {
            return found;
        }
        if start.elapsed() > TIMEOUT {
            panic!("waited {:?} in vain: {}", TIMEOUT, what);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Checks repeatedly, for `time`, that `condition` holds: for events that must not happen.
#[track_caller]
pub fn steadily(what: &str, time: Duration, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    loop {
        assert!(
            condition(),
            "after {:?}: no longer {}",
            start.elapsed(),
            what
        );
        if start.elapsed() > time {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
