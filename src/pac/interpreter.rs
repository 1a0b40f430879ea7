//! A file in a JavaScript interpreter of its own: Duktape, ES5, which reaches neither files nor the
//! network but through [`native`].

use std::io;
use std::time::Instant;

use ducc::{Ducc, ExecSettings, Function, Invocation, Object, Result as Outcome, Value};
use log::debug;

use super::{native, shown};

const PRELUDE: &str = include_str!("prelude.js");

/// A file that has run.
pub(super) struct Interpreter {
    ducc: Ducc,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Time ran out, and the file was cut short.
    Late,
    /// What it threw or failed to say, and where: counted from 1, and 0 is not known.
    Thrown { line: usize, text: String },
}

impl Interpreter {
    /// Runs a file as far as it runs before it is asked.
    pub(super) fn load(name: &str, source: &str, until: Instant) -> Result<Interpreter, Fault> {
        Interpreter::at(name, source, until, native::clock)
    }

    /// The same at another time.
    fn at(
        name: &str,
        source: &str,
        until: Instant,
        clock: impl Fn() -> f64 + Send + 'static,
    ) -> Result<Interpreter, Fault> {
        let ducc = Ducc::new();
        prepare(&ducc, name, source, clock).map_err(|e| Fault::thrown(&e))?;
        let interpreter = Interpreter { ducc };
        interpreter.call("load()", until).map(|_| interpreter)
    }

    /// What FindProxyForURL says.
    pub(super) fn ask(&self, url: &str, host: &str, until: Instant) -> Result<String, Fault> {
        // Neither holds anything that would have to be escaped.
        self.call(&format!("ask({:?}, {:?})", url, host), until)
    }

    /// One of the two functions at the end of the prelude. They throw nothing of the file's: reading
    /// that could run its code again, unguarded.
    fn call(&self, what: &str, until: Instant) -> Result<String, Fault> {
        let settings = ExecSettings {
            cancel_fn: Some(Box::new(move || Instant::now() >= until)),
        };
        let call = format!("this[' ptunnel'].{}", what);
        let answer = self.ducc.exec::<String>(&call, Some("call"), settings);
        match answer {
            Ok(text) => Fault::read(text),
            Err(_) if Instant::now() >= until => Err(Fault::Late),
            Err(e) => Err(Fault::thrown(&e)),
        }
    }
}

impl Fault {
    /// The thread has ended.
    pub(super) fn gone() -> Fault {
        let text = "the interpreter failed".into();
        Fault::Thrown { line: 0, text }
    }

    pub(super) fn without_thread(e: io::Error) -> Fault {
        let text = format!("cannot start a thread: {}", e);
        Fault::Thrown { line: 0, text }
    }

    fn thrown(error: &ducc::Error) -> Fault {
        let text = error.to_string();
        Fault::Thrown { line: 0, text }
    }

    /// An answer behind `=`, or a fault behind `!`, its line and a space.
    fn read(told: String) -> Result<String, Fault> {
        if let Some(answer) = told.strip_prefix('=') {
            return Ok(answer.into());
        }
        let mut parts = told.trim_start_matches('!').splitn(2, ' ');
        let line = parts.next().and_then(|line| line.parse().ok());
        Err(Fault::Thrown {
            line: line.unwrap_or(0),
            text: parts.next().unwrap_or_default().into(),
        })
    }
}

/// Hands the prelude what it can't do itself.
fn prepare(
    ducc: &Ducc,
    name: &str,
    source: &str,
    clock: impl Fn() -> f64 + Send + 'static,
) -> Outcome<()> {
    let natives: Object<'_> = ducc.create_object();
    let name = name.to_string();
    let log = move |text: String| {
        debug!("{}: alert: {}", name, shown(&text));
        String::new()
    };
    natives.set("source", source)?;
    natives.set("log", function(ducc, move |given| log(text(&given, 0))))?;
    natives.set("own", function(ducc, |_| native::own()))?;
    natives.set(
        "addresses",
        function(ducc, |given| native::addresses(&text(&given, 0))),
    )?;
    natives.set(
        "sorted",
        function(ducc, |given| native::sorted(&text(&given, 0))),
    )?;
    natives.set(
        "within",
        ducc.create_function(|given: Invocation<'_>| {
            Ok(native::within(&text(&given, 0), &text(&given, 1)))
        }),
    )?;
    natives.set(
        "clock",
        ducc.create_function(move |_: Invocation<'_>| Ok(clock())),
    )?;
    let settings = ExecSettings { cancel_fn: None };
    let prelude: Function<'_> = ducc.exec(PRELUDE, Some("prelude.js"), settings)?;
    prelude.call::<_, ()>((natives,))
}

/// A function of texts.
fn function<'a>(
    ducc: &'a Ducc,
    call: impl Fn(Invocation<'_>) -> String + Send + 'static,
) -> Function<'a> {
    ducc.create_function(move |given: Invocation<'_>| Ok(call(given)))
}

/// An argument, which the prelude has made a text.
fn text(given: &Invocation<'_>, place: usize) -> String {
    match given.args.get(place) {
        Value::String(text) => text.to_string().unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
