//! A PAC file in a JavaScript engine of its own: QuickJS, ES2020 and later, which reaches neither
//! files nor the network but through what [`prelude.js`](PRELUDE) is given.

use super::host_functions;
use super::ipc::MessageKind;
use crate::os::sys::QuickJs;

const PRELUDE: &str = include_str!("prelude.js");

/// What a file's variables may take.
const MEMORY: usize = 64 * 1024 * 1024;

/// A file that has run.
pub(super) struct Interpreter {
    engine: QuickJs,
}

/// Why there is no answer: what the file threw, and where. Lines count from 1, and 0 isn't known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Thrown {
    pub(super) line: usize,
    pub(super) text: String,
}

impl Interpreter {
    /// Runs a file as far as it runs before it is asked. `outside` does what only the parent can:
    /// `Addresses`, `Own` and `Log`.
    pub(super) fn load(
        source: &str,
        outside: impl FnMut(MessageKind, &str) -> String + 'static,
    ) -> Result<Interpreter, Thrown> {
        Interpreter::at(source, host_functions::clock, outside)
    }

    /// The same at another time.
    fn at(
        source: &str,
        clock: impl Fn() -> f64 + 'static,
        mut outside: impl FnMut(MessageKind, &str) -> String + 'static,
    ) -> Result<Interpreter, Thrown> {
        let host = move |given: &[String]| {
            let text = |place: usize| given.get(place).map_or("", String::as_str);
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

    /// What FindProxyForURL says; nothing when that is no text.
    pub(super) fn ask(&mut self, url: &str, host: &str) -> Result<String, Thrown> {
        self.call(&["ask", url, host])
    }

    /// The prelude's function, which throws nothing while there is memory.
    fn call(&mut self, arguments: &[&str]) -> Result<String, Thrown> {
        let told = self.engine.call(arguments);
        Thrown::read(told.ok_or_else(Thrown::without_memory)?)
    }
}

impl Thrown {
    fn without_memory() -> Thrown {
        let text = "it needs too much memory".into();
        Thrown { line: 0, text }
    }

    /// An answer behind `=`, or an error behind `!`, its line and a space.
    fn read(told: String) -> Result<String, Thrown> {
        match told.strip_prefix('=') {
            Some(answer) => Ok(answer.into()),
            None => Err(Thrown::parse(told.trim_start_matches('!'))),
        }
    }

    /// A line, a space and a text.
    pub(super) fn parse(told: &str) -> Thrown {
        let mut parts = told.splitn(2, ' ');
        let line = parts.next().and_then(|line| line.parse().ok());
        Thrown {
            line: line.unwrap_or(0),
            text: parts.next().unwrap_or_default().into(),
        }
    }
}

#[cfg(test)]
mod tests;
