//! Log lines: this crate's, as text or as JSON, on stderr or to syslog.
//!
//! Text carries no time of day unless that is wanted: whoever keeps logs (the journal, syslog, a
//! container) adds its own.
//! No line makes a tunnel wait for whoever reads them: what he can't take is lost, and counted.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

use log::{error, Level, LevelFilter, Log, Metadata, Record};

use super::json;
use super::queue::Queue;
use super::syslog::Syslog;
use crate::config::{LogFormat, LogTarget};
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};
use crate::os::panics;

/// Starts to log this crate's lines up to `level`, and panics as some of them; with the time of day
/// in front of those that are text on stderr, if it is wanted. Once per process.
pub fn init(level: LevelFilter, format: LogFormat, target: &LogTarget, is_timed: bool) -> Logging {
    if format == LogFormat::Json {
        field::want();
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
            let told = move |count| style.lost(count) + "\n";
            Sink::Stderr(Queue::new(io::stderr(), told))
        }
        LogTarget::Syslog(path) => {
            let (syslog, reached) = Syslog::open(path.clone(), style);
            if let Err(e) = reached {
                // Nobody else can be told.
                tell_people(&format!(
                    "ptunnel: no syslog at {} yet, log lines are lost until it is there: {}",
                    path.display(),
                    e
                ));
            }
            Sink::Syslog(Mutex::new(syslog))
        }
    };
    let logging = Logging {
        style,
        queue: match &sink {
            Sink::Stderr(queue) => Some(queue.clone()),
            Sink::Syslog(_) => None,
        },
    };
    let logger = Box::new(Logger { style, sink });
    if log::set_logger(Box::leak(logger)).is_ok() {
        log::set_max_level(level);
        log_panics();
    }
    logging
}

/// The log of this process. Dropped, it waits until its lines are written, for as long as somebody
/// takes them: nothing is lost at the end of the program, however that comes about.
#[must_use = "what is still to be written is lost at the end of the process"]
pub struct Logging {
    style: Style,
    /// To stderr.
    queue: Option<Queue>,
}

impl Logging {
    /// Tells of the error that ends the program.
    pub fn tell_end(&self, error: &Error) {
        let text = format!("{}{}", Heading(None, error.path()), error);
        let log = || field::log(Level::Error, format_args!("{}", text), || error.fields());
        match (&self.queue, self.style) {
            // To people, as they are told what is wrong with a command line.
            (Some(queue), Style::Text { is_timed, .. }) => {
                queue.push(format!("{}ptunnel: {}\n", time(is_timed), text))
            }
            // Whoever collects the log wants the last line, too, and in its form.
            (Some(_), Style::Json) => log(),
            // Who looks why the program is gone may not look there, and it may have been lost.
            (None, _) => {
                log();
                tell_people(&format!("ptunnel: {}", text));
            }
        }
    }
}

/// On stderr, where log lines go elsewhere: so there is room for the few that go there. Nobody
/// reading is no reason to fail.
fn tell_people(line: &str) {
    if !is_client_on_stderr() {
        let _ = writeln!(io::stderr(), "{}", line);
    }
}

/// Whether stderr is the socket that stdin is: inetd's client, to whom these lines would be the
/// destination's.
fn is_client_on_stderr() -> bool {
    let socket = |descriptor| {
        let file = fs::metadata(format!("/proc/self/fd/{}", descriptor)).ok()?;
        let is_socket = file.file_type().is_socket();
        Some((file.dev(), file.ino())).filter(|_| is_socket)
    };
    let client = socket(0);
    client.is_some() && client == socket(2)
}

impl Drop for Logging {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.flush();
        }
    }
}

struct Logger {
    style: Style,
    sink: Sink,
}

/// What a line looks like.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Text {
        /// It begins with the time of day.
        is_timed: bool,
        /// The number of its connection stands in front of the message.
        is_numbered: bool,
    },
    Json,
}

enum Sink {
    Stderr(Queue),
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
        let line = self.style.line(record);
        match &self.sink {
            Sink::Stderr(queue) => queue.push(line + "\n"),
            Sink::Syslog(syslog) => {
                let mut syslog = syslog.lock().unwrap_or_else(PoisonError::into_inner);
                syslog.send(record.level(), &line);
            }
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

    /// In place of so many lines.
    pub(super) fn lost(self, count: u64) -> String {
        let level = name(Level::Warn);
        let message = format!("{} log lines were lost: nobody took them", count);
        match self {
            Style::Json => json::line(level, &message, Vec::new()),
            Style::Text { is_timed, .. } => format!("{}{}: {}", time(is_timed), level, message),
        }
    }
}

/// What stands in front of a line.
fn time(is_timed: bool) -> String {
    if is_timed {
        json::now() + " "
    } else {
        String::new()
    }
}

/// Has panics told in lines of the log. What std does by itself would wait for whoever reads
/// stderr; it is left to those who ask for a backtrace.
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
