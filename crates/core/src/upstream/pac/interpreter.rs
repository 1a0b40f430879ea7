//! A PAC file in a JavaScript engine: QuickJS (ES2020 and later), which reaches files and the
//! network only through the functions that [`prelude.js`](PRELUDE) gets.

use super::host_functions;
use super::ipc::MessageKind;
use crate::os::sys::QuickJs;

const PRELUDE: &str = include_str!("prelude.js");

/// Maximum memory of the engine, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// A PAC file that has been loaded.
pub(super) struct Interpreter {
    engine: QuickJs,
}

/// An error that the file threw. Lines count from 1; 0 is an unknown line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Thrown {
    pub(super) line: usize,
    pub(super) text: String,
}

impl Interpreter {
    /// Runs a file up to the first call of FindProxyForURL. `outside` sends the requests that only
    /// the parent can serve: `Addresses`, `Own` and `Log`.
    pub(super) fn load(
        source: &str,
        outside: impl FnMut(MessageKind, &str) -> String + 'static,
    ) -> Result<Interpreter, Thrown> {
        Interpreter::at(source, host_functions::clock, outside)
    }

    /// The same with another clock.
    fn at(
        source: &str,
        clock: impl Fn() -> f64 + 'static,
        mut outside: impl FnMut(MessageKind, &str) -> String + 'static,
    ) -> Result<Interpreter, Thrown> {
        let host = move |given: &[String]| {
            let text = |index: usize| given.get(index).map_or("", String::as_str);
            match text(0) {
                "addresses" => outside(MessageKind::Addresses, text(1)),
                "own" => outside(MessageKind::Own, ""),
                "log" => outside(MessageKind::Log, text(1)),
                "within" if host_functions::within(text(1), text(2)) => "yes".into(),
                "sorted" => host_functions::sorted(text(1)),
                "clock" => clock().to_string(),
                _ => String::new(),
            }
        };
        let engine = QuickJs::new(PRELUDE, MEMORY, host).ok_or_else(Thrown::without_memory)?;
        let mut interpreter = Interpreter { engine };
        interpreter.call(&["load", source])?;
        Ok(interpreter)
    }

    /// Calls FindProxyForURL; returns an empty text if the result is no text.
    pub(super) fn ask(&mut self, url: &str, host: &str) -> Result<String, Thrown> {
        self.call(&["ask", url, host])
    }

    /// Calls the prelude's function, which throws only when memory is short.
    fn call(&mut self, arguments: &[&str]) -> Result<String, Thrown> {
        let answer = self.engine.call(arguments);
        Thrown::read(answer.ok_or_else(Thrown::without_memory)?)
    }
}

impl Thrown {
    fn without_memory() -> Thrown {
        let text = "the script needs too much memory".into();
        Thrown { line: 0, text }
    }

    /// Parses the prelude's answer: a text after `=`, or an error after `!`.
    fn read(answer: String) -> Result<String, Thrown> {
        match answer.strip_prefix('=') {
            Some(text) => Ok(text.into()),
            None => Err(Thrown::parse(answer.trim_start_matches('!'))),
        }
    }

    /// Parses an error: its line, a space and its text.
    pub(super) fn parse(error: &str) -> Thrown {
        let mut parts = error.splitn(2, ' ');
        let line = parts.next().and_then(|line| line.parse().ok());
        Thrown {
            line: line.unwrap_or(0),
            text: parts.next().unwrap_or_default().into(),
        }
    }
}

#[cfg(test)]
mod tests;
