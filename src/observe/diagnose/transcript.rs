//! The observer of `--test`, which prints each step.

use std::fmt;
use std::fs;
use std::io::{self, Stdout, Write};
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use super::advice::Advice;
use super::{Observer, TestStep};
use crate::config::{Destination, ProxySpec};
use crate::error::Error;
use crate::upstream::{Hop, ProxyChain, UpstreamPath};

/// Prints the test of one destination on stdout.
pub(super) struct Transcript {
    out: Stdout,
    /// Whether stdout is a terminal, on which a step's name appears when the step starts.
    is_terminal: bool,
    start: Instant,
    /// The path that is tried.
    path: Option<UpstreamPath>,
    /// The current hop, in a chain.
    hop: Option<Hop>,
    /// The current step and its start.
    step: Option<(TestStep, Instant)>,
    /// Whether the current hop is in TLS.
    is_secure: bool,
    /// The first error of writing.
    written: io::Result<()>,
}

impl Transcript {
    pub(super) fn new() -> Transcript {
        Transcript {
            out: io::stdout(),
            is_terminal: is_character_device("/dev/fd/1"),
            start: Instant::now(),
            path: None,
            hop: None,
            step: None,
            is_secure: false,
            written: Ok(()),
        }
    }

    /// Prints the first line.
    pub(super) fn title(&mut self, destination: &Destination) {
        self.start_line(format_args!("testing {}\n", destination));
    }

    /// Starts a line once all earlier lines of the log are written, which could otherwise split it.
    fn start_line(&mut self, what: fmt::Arguments<'_>) {
        log::logger().flush();
        self.print(what);
    }

    fn print(&mut self, what: fmt::Arguments<'_>) {
        if self.written.is_ok() {
            self.written = self.out.write_fmt(what).and_then(|()| self.out.flush());
        }
    }

    /// Prints the rest of a step's line; returns the step.
    fn end_step(&mut self, what: &dyn fmt::Display) -> Option<TestStep> {
        let (step, since) = self.step.take()?;
        let rest = format_args!("{:>10}  {}\n", Millis(since.elapsed()), what).to_string();
        if self.is_terminal {
            self.print(format_args!("{}", rest));
        } else {
            // In one piece, which the log can't split.
            self.start_line(format_args!("{}{}", margin(step), rest));
        }
        Some(step)
    }

    /// Prints the last line; returns the exit code.
    ///
    /// # Errors
    ///
    /// The first error of writing to stdout.
    pub(super) fn finish(mut self, result: Result<UpstreamPath, Error>) -> io::Result<i32> {
        let exit_code = match result {
            Ok(path) => {
                let all = Millis(self.start.elapsed());
                self.start_line(format_args!("works {}, {} in all\n", path, all));
                0
            }
            Err(e) => {
                self.path_failed(&e);
                self.start_line(format_args!("does not work\n"));
                e.exit_code()
            }
        };
        self.written.map(|()| exit_code)
    }
}

impl Observer for Transcript {
    fn path_started(&mut self, path: &UpstreamPath) {
        self.path = Some(path.clone());
        self.hop = None;
        self.is_secure = false;
        self.start_line(format_args!("{}\n", path));
    }

    fn hop_started(&mut self, hop: &Hop) {
        self.hop = Some(hop.clone());
        self.is_secure = false;
        self.start_line(format_args!("asking {} for {}\n", hop.spec(), hop.target()));
    }

    fn step_started(&mut self, step: TestStep) {
        self.step = Some((step, Instant::now()));
        self.is_secure |= step.starts_tls();
        if self.is_terminal {
            self.start_line(format_args!("{}", margin(step)));
        }
    }

    fn step_done(&mut self, result: &dyn fmt::Display) {
        self.end_step(result);
    }

    fn path_failed(&mut self, error: &Error) {
        let step = self.end_step(&format_args!("FAILED: {}", error));
        let before: Vec<&ProxySpec> = if error.is_of_destinations_tls() {
            let chain = self.path.as_ref().and_then(UpstreamPath::proxy);
            chain.into_iter().flat_map(ProxyChain::proxies).collect()
        } else {
            self.hop.iter().flat_map(Hop::before).collect()
        };
        let is_secure = self.is_secure;
        if let Some(advice) = step.and_then(|step| Advice::after(step, is_secure, error, &before)) {
            self.print(format_args!("  {:<26}try: {}\n", "", advice));
        }
    }
}

/// Returns the beginning of a step's line.
fn margin(step: TestStep) -> String {
    format!("  {:<14}", step.label())
}

/// Whether the path is a character device: a terminal, or /dev/null, where it makes no difference.
fn is_character_device(path: &str) -> bool {
    fs::metadata(path).map_or(false, |metadata| metadata.file_type().is_char_device())
}

/// Displays a time as `12.3 ms`.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} ms", self.0.as_secs_f64() * 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_aligned() {
        let shown = format!("{:>10}|", Millis(Duration::from_micros(12_345)));
        assert_eq!(shown, "   12.3 ms|");
    }
}
