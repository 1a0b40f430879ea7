//! The target and the format of log lines.

use std::path::PathBuf;
use std::str::FromStr;

use super::{wrong, ParseError};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for humans: `warning: …`.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// The names of the formats, the default first.
    pub const NAMES: &'static [&'static str] = &["text", "json"];
}

impl FromStr for LogFormat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<LogFormat, ParseError> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(wrong("log format", text, "it must be text or json", "json")),
        }
    }
}

/// The target of log lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard error.
    Stderr,
    /// The syslog daemon on this Unix socket.
    Syslog(PathBuf),
}

impl LogTarget {
    /// The names of the targets without a path, the default first.
    pub const NAMES: &'static [&'static str] = &["stderr", "syslog"];
}

impl FromStr for LogTarget {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<LogTarget, ParseError> {
        match (text, text.strip_prefix("syslog:")) {
            ("stderr", _) => Ok(LogTarget::Stderr),
            ("syslog", _) => Ok(LogTarget::Syslog("/dev/log".into())),
            (_, Some(path)) if path.starts_with('/') => Ok(LogTarget::Syslog(path.into())),
            _ => Err(wrong(
                "log target",
                text,
                "it must be stderr, syslog or syslog:SOCKET with an absolute path",
                "syslog",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_syslog_socket_is_absolute() {
        for (text, path) in &[
            ("syslog", "/dev/log"),
            ("syslog:/run/log.sock", "/run/log.sock"),
        ] {
            let target: LogTarget = text.parse().unwrap();
            assert_eq!(target, LogTarget::Syslog(path.into()));
        }
        for wrong in &["", "file", "syslog:", "syslog:log", "/dev/log"] {
            let e = wrong.parse::<LogTarget>().unwrap_err().to_string();
            assert!(e.contains(&format!("'{}'", wrong)), "{}", e);
        }
    }
}
