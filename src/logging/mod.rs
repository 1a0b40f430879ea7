//! Log lines: this crate's, as text or as JSON, on stderr or to syslog.
//!
//! Text carries no time of day: whoever keeps logs (the journal, syslog, a container) adds its own.

mod json;
mod syslog;

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

use self::syslog::Syslog;
use crate::config::{LogFormat, LogTarget};
use crate::field;

/// Starts to log this crate's lines up to `level`. Once per process.
pub fn init(level: LevelFilter, format: LogFormat, target: &LogTarget) {
    if format == LogFormat::Json {
        field::mark();
    }
    let sink = match target {
        LogTarget::Stderr => Sink::Stderr,
        LogTarget::Syslog(path) => {
            let (syslog, reached) = Syslog::open(path.clone());
            if let Err(e) = reached {
                // Nobody else can be told.
                let _ = writeln!(
                    io::stderr(),
                    "ptunnel: no syslog at {} yet, log lines are lost until it is there: {}",
                    path.display(),
                    e
                );
            }
            Sink::Syslog(Mutex::new(syslog))
        }
    };
    let logger = Box::new(Logger { format, sink });
    if log::set_logger(Box::leak(logger)).is_ok() {
        log::set_max_level(level);
    }
}

struct Logger {
    format: LogFormat,
    sink: Sink,
}

enum Sink {
    Stderr,
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
        let mut line = match self.format {
            LogFormat::Text => format!("{}: {}", name(record.level()), record.args()),
            LogFormat::Json => json::line(name(record.level()), &record.args().to_string()),
        };
        match &self.sink {
            Sink::Stderr => {
                // In one piece. That nobody reads it is no reason to end any tunnel.
                line.push('\n');
                let _ = io::stderr().write_all(line.as_bytes());
            }
            Sink::Syslog(syslog) => {
                let mut syslog = syslog.lock().unwrap_or_else(PoisonError::into_inner);
                syslog.send(record.level(), &line);
            }
        }
    }

    fn flush(&self) {}
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
