//! The program's logger: writes this crate's lines as text or JSON, to stderr or syslog.
//!
//! Text lines have no time of day unless the user requests it, since the journal, syslog and
//! containers add their own. Logging never blocks a tunnel: lines that the reader doesn't read in
//! time are lost and counted.

use std::env;
use std::io::{self, Write};
use std::panic;
use std::sync::Mutex;
use std::thread;

use log::{error, Level, LevelFilter, Log, Metadata, Record};

use super::denials::Denials;
use super::json;
use super::queue::LogQueue;
use super::syslog::Syslog;
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};
use crate::os::panics;
use crate::os::stdio::is_stdin_socket;
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::{LogFormat, LogTarget};

/// Installs the logger for this crate's lines up to `level`, and for panics. `is_timed` puts the
/// time of day in front of text lines on stderr. Call it once per process.
pub fn init(level: LevelFilter, format: LogFormat, target: &LogTarget, is_timed: bool) -> Logging {
    if format == LogFormat::Json {
        field::enable();
    }
    let style = match format {
        LogFormat::Json => Style::Json,
        LogFormat::Text => Style::Text {
            is_timed: is_timed && *target == LogTarget::Stderr,
            is_numbered: level >= LevelFilter::Debug,
        },
    };
    let sink = match target {
        LogTarget::Stderr => {
            let lost = move |count| style.lost(count) + "\n";
            Sink::Stderr(LogQueue::new(io::stderr(), lost))
        }
        LogTarget::Syslog(path) => {
            let (syslog, reached) = Syslog::open(path.clone(), style);
            if let Err(e) = reached {
                print_on_stderr(&format!(
                    "ptunnel: cannot connect to syslog at {}: {}; log lines are lost until it runs",
                    path.display(),
                    e
                ));
            }
            Sink::Syslog(Mutex::new(syslog))
        }
    };
    let denials = Denials::default();
    let logger = Box::leak(Box::new(Logger {
        style,
        sink,
        denials,
    }));
    if log::set_logger(logger).is_ok() {
        log::set_max_level(level);
        log_panics();
    }
    Logging(logger)
}

/// The log of this process. Dropping it flushes the lines that are still queued, with a time limit
/// for each.
#[must_use = "lines that are still queued are lost at the end of the process"]
pub struct Logging(&'static Logger);

impl Logging {
    /// Reports the error that ends the program.
    pub fn report_end(&self, error: &Error) {
        let text = format!("{}{}", Heading(None, error.path()), error);
        // The lines of the log have their causes in the guide; this one is for the person at the terminal.
        let advice = if error.is_explained_by_test() {
            "; run it with --test to see what to try"
        } else {
            ""
        };
        let log = || field::log(Level::Error, format_args!("{}", text), || error.fields());
        match (&self.0.sink, self.0.style) {
            // In the format of an error in the command line.
            (Sink::Stderr(queue), Style::Text { is_timed, .. }) => {
                queue.push(format!("{}ptunnel: {}{}\n", time(is_timed), text, advice))
            }
            // In the format of the other lines, for the log collector.
            (Sink::Stderr(_), Style::Json) => log(),
            // Also on stderr: syslog can be down, and users look at stderr first.
            (Sink::Syslog(_), _) => {
                log();
                print_on_stderr(&format!("ptunnel: {}{}", text, advice));
            }
        }
    }
}

/// Prints a line on stderr while log lines go to syslog. Ignores errors.
fn print_on_stderr(line: &str) {
    // Under inetd stderr is the client's socket: the line would look like data of the destination.
    if !is_stdin_socket(2) {
        let _ = writeln!(io::stderr(), "{}", line);
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.0.denials.report_all();
        self.0.flush();
    }
}

struct Logger {
    style: Style,
    sink: Sink,
    denials: Denials,
}

/// The format of a line.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Text {
        /// Whether the line starts with the time of day.
        is_timed: bool,
        /// Whether the connection's number precedes the message.
        is_numbered: bool,
    },
    Json,
}

enum Sink {
    Stderr(LogQueue),
    Syslog(Mutex<Syslog>),
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ptunnel")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if record.target() == field::DENIED {
            let client = LogContext::current().and_then(|context| context.client().ip());
            let is_shown = record.level() <= log::max_level();
            if !self.denials.admit(client.into(), is_shown) {
                return;
            }
        }
        let line = self.style.line(record);
        match &self.sink {
            Sink::Stderr(queue) => queue.push(line + "\n"),
            Sink::Syslog(syslog) => lock(syslog).send(record.level(), &line),
        }
    }

    fn flush(&self) {
        if let Sink::Stderr(queue) = &self.sink {
            queue.flush();
        }
    }
}

impl Style {
    fn line(self, record: &Record<'_>) -> String {
        let level = name(record.level());
        match self {
            Style::Json => json::line(level, &record.args().to_string(), field::take()),
            Style::Text {
                is_timed,
                is_numbered,
            } => match LogContext::current() {
                Some(context) if is_numbered => {
                    let number = context.connection();
                    format!(
                        "{}{}: [{}] {}",
                        time(is_timed),
                        level,
                        number,
                        record.args()
                    )
                }
                _ => format!("{}{}: {}", time(is_timed), level, record.args()),
            },
        }
    }

    /// Returns the line that reports `count` lost lines.
    pub(super) fn lost(self, count: u64) -> String {
        let level = name(Level::Warn);
        let message = format!(
            "{} log lines lost: the log's reader didn't accept them",
            count
        );
        match self {
            Style::Json => json::line(level, &message, Vec::new()),
            Style::Text { is_timed, .. } => format!("{}{}: {}", time(is_timed), level, message),
        }
    }
}

/// Returns the time of day in front of a line, or nothing.
fn time(is_timed: bool) -> String {
    if is_timed {
        json::now() + " "
    } else {
        String::new()
    }
}

/// Logs panics as log lines, since the standard hook could block on stderr. Keeps the standard hook
/// when the user requests a backtrace.
fn log_panics() {
    if env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, ToString::to_string);
        error!(
            "thread '{}' panicked at {}: {}",
            thread::current().name().unwrap_or("unnamed"),
            place,
            panics::message(info.payload())
        );
    }));
}

fn name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}
