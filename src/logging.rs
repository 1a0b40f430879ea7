//! Log lines on stderr: `warning: …`, as short as they can be.
//!
//! No time of day: whoever keeps logs (the journal, a container) adds its own.

use std::io::{self, Write};

use env_logger::Target;
use log::{Level, LevelFilter};

/// Starts to log this crate's lines up to `level`. Once per process.
pub fn init(level: LevelFilter) {
    env_logger::Builder::new()
        // Its own stderr would panic, and end every tunnel, when nobody reads it.
        .target(Target::Pipe(Box::new(io::stderr())))
        .filter_module("ptunnel", level)
        .format(|out, record| {
            let level = match record.level() {
                Level::Error => "error",
                Level::Warn => "warning",
                Level::Info => "info",
                Level::Debug => "debug",
                Level::Trace => "trace",
            };
            writeln!(out, "{}: {}", level, record.args())
        })
        .init();
}
