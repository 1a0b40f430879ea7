//! What is running, how far, how long to go: on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Measures how much of the expected time has passed, and corrects the rest by how expectation and clock differ.
#[derive(Debug)]
pub struct Progress {
    begun: Instant,
    expected: Duration,
    done: Duration,
    terminal: bool,
}

impl Progress {
    pub fn new(expected: Duration) -> Progress {
        Progress {
            begun: Instant::now(),
            expected,
            done: Duration::ZERO,
            terminal: io::stderr().is_terminal(),
        }
    }

    pub fn tell(&self, what: &str) {
        let share = self.done.as_secs_f64() / self.expected.as_secs_f64().max(1e-9);
        let text = format!("{:3.0} % {}  {what}", share.min(1.0) * 100.0, self.to_go());
        let mut stderr = io::stderr().lock();
        let _ = match self.terminal {
            true => write!(stderr, "\r\x1b[K{text}"),
            false => writeln!(stderr, "{text}"),
        };
        let _ = stderr.flush();
    }

    /// A sample that was expected to take this long is over, taken or dropped.
    pub fn step(&mut self, expected: Duration) {
        self.done += expected;
    }

    pub fn finish(&self) {
        if self.terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }

    fn to_go(&self) -> String {
        let rest = remaining(self.begun.elapsed(), self.done, self.expected).as_secs();
        format!("{:2}:{:02} to go", rest / 60, rest % 60)
    }
}

fn remaining(elapsed: Duration, done: Duration, expected: Duration) -> Duration {
    let rest = expected.saturating_sub(done);
    // Too early to know better than the expectation.
    if done < Duration::from_secs(5) {
        return rest;
    }
    rest.mul_f64(elapsed.as_secs_f64() / done.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_machine_lengthens_the_rest() {
        let s = Duration::from_secs;
        assert_eq!(remaining(s(2), s(1), s(100)), s(99));
        assert_eq!(remaining(s(40), s(20), s(100)), s(160));
        assert_eq!(remaining(s(40), s(120), s(100)), s(0));
    }
}
