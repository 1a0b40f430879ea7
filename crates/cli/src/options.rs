//! The values of the options: those typed, and those of the config file that they don't replace.
//!
//! Each value knows where it was given, so that an error names the line of the file or, for a
//! typed value, nothing but the option.

use std::str::FromStr;

use clap::ArgMatches;

use super::flags::{self, Flag, TUNNEL};
use ptunnel_core::error::Error;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::ParseError;

/// Ends an error about the command line as a whole.
pub(super) const EXAMPLE: &str =
    "e.g. ptunnel -p proxy.example:3128 8993:imap.example.org:993; see --help";

/// The position of a value. The config file precedes the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Position {
    /// A line of the config file, from 1.
    Line(usize),
    /// The position of a word on the command line.
    Word(usize),
}

/// One value of an option, or one occurrence of a switch.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) flag: &'static Flag,
    /// `None` for a switch.
    pub(super) text: Option<String>,
    pub(super) position: Position,
}

impl Value {
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// All values in the order in which they were given.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The config file's path.
    path: Option<String>,
    values: Vec<Value>,
}

impl Options {
    /// Returns the values that clap found on the command line.
    ///
    /// # Errors
    ///
    /// A usage error when an option at the end of the command line has no value.
    pub(super) fn typed(matches: &ArgMatches<'_>) -> Result<Options, Error> {
        let mut values = Vec::new();
        for flag in flags::all().chain(Some(TUNNEL)) {
            let count = matches.occurrences_of(flag.name) as usize;
            let texts: Vec<Option<&str>> = match flag.value {
                Some(_) => {
                    let texts = matches.values_of(flag.name).into_iter().flatten();
                    texts.map(Some).collect()
                }
                None => vec![None; count],
            };
            let places = matches.indices_of(flag.name).into_iter().flatten();
            values.extend(places.zip(&texts).map(|(index, text)| Value {
                flag,
                text: text.map(str::to_string),
                position: Position::Word(index),
            }));
            // clap ignores a last one without a value if others have one.
            if count > texts.len() {
                return Err(Error::usage(format!(
                    "--{} at the end has no value; e.g. {}",
                    flag.name, flag.example
                )));
            }
        }
        values.sort_by_key(|value| value.position);
        Ok(Options { path: None, values })
    }

    /// Returns the same options with the values of a config file before them.
    pub(super) fn with_file(&self, path: &str, mut values: Vec<Value>) -> Options {
        values.extend(self.values.iter().cloned());
        Options {
            path: Some(path.to_string()),
            values,
        }
    }

    /// Refuses a value that isn't among its option's choices.
    pub(super) fn check_choices(&self) -> Result<(), Error> {
        for value in &self.values {
            let flag = value.flag;
            if flag.is_closed && !flag.choices.contains(&value.text()) {
                let why = format!(
                    "--{}: '{}' isn't one of {}",
                    flag.name,
                    Escaped(value.text().as_bytes()),
                    flag.choices.join(", ")
                );
                return Err(self.at(value, Error::usage(why)));
            }
        }
        Ok(())
    }

    /// Refuses options that can't be given together.
    pub(super) fn check_conflicts(&self) -> Result<(), Error> {
        for value in &self.values {
            let mut conflicts = value.flag.conflicts.iter();
            if let Some(other) = conflicts.find_map(|name| self.first(name)) {
                let last = if value.position > other.position {
                    value
                } else {
                    other
                };
                let why = format!(
                    "--{} can't be combined with --{}; remove one of them, e.g. {}",
                    other.flag.name, value.flag.name, value.flag.example
                );
                return Err(self.at(last, Error::usage(why)));
            }
        }
        Ok(())
    }

    /// Refuses an option without the one that it requires.
    pub(super) fn check_requirements(&self) -> Result<(), Error> {
        for value in &self.values {
            let missing = value.flag.requires.and_then(flags::find);
            if let Some(missing) = missing.filter(|flag| !self.is_present(flag.name)) {
                return Err(self.whole(Error::usage(format!(
                    "--{} requires --{} {}; e.g. {}",
                    value.flag.name,
                    missing.name,
                    missing.value.unwrap_or_default(),
                    value.flag.example
                ))));
            }
        }
        Ok(())
    }

    /// Returns the values of an option.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
        self.values
            .iter()
            .filter(move |value| value.flag.name == name)
    }

    pub(super) fn first(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.flag.name == name)
    }

    pub(super) fn is_present(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    pub(super) fn value_of(&self, name: &str) -> Option<&str> {
        self.first(name).map(Value::text)
    }

    /// Returns the parsed value of an option.
    pub(super) fn one<T: FromStr<Err = ParseError>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.one_with(name, str::parse)
    }

    /// Returns the value of an option, parsed by `parse`.
    pub(super) fn one_with<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, Error> {
        let value = self.first(name);
        value.map(|value| self.parse(value, parse)).transpose()
    }

    /// Returns the parsed value of an option, or its default.
    pub(super) fn one_or_default<T: FromStr<Err = ParseError>>(
        &self,
        name: &str,
    ) -> Result<T, Error> {
        self.one_or_default_with(name, str::parse)
    }

    /// Returns the value of an option, or its default, parsed by `parse`.
    pub(super) fn one_or_default_with<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<T, Error> {
        match self.one_with(name, &parse)? {
            Some(value) => Ok(value),
            None => Ok(parse(&self.default_of(name))?),
        }
    }

    /// Returns the default of an option as it would be typed.
    pub(super) fn default_of(&self, name: &str) -> String {
        let flag = flags::find(name);
        flag.map_or(String::new(), |flag| {
            flag.default_text(self.is_present("stdio"))
        })
    }

    /// Returns the parsed values of an option that may be repeated.
    pub(super) fn all<T: FromStr<Err = ParseError>>(&self, name: &str) -> Result<Vec<T>, Error> {
        self.values(name)
            .map(|value| self.parse(value, str::parse))
            .collect()
    }

    fn parse<T>(
        &self,
        value: &Value,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<T, Error> {
        parse(value.text()).map_err(|e| {
            let flag = value.flag;
            let example = flag.valid.map(|text| format!("; e.g. {}", text));
            let why = format!("--{}: {}{}", flag.name, e, example.unwrap_or_default());
            self.at(value, Error::usage(why))
        })
    }

    /// Returns a warning for each of these options that was given without effect.
    pub(super) fn unused(&self, names: &[&str], why: &str) -> Vec<String> {
        let given = names.iter().filter(|name| self.is_present(name));
        given
            .map(|name| format!("--{} has no effect: {}", name, why))
            .collect()
    }

    /// Returns the option of a value, with the file and the line if the value is of the file.
    pub(super) fn place(&self, value: &Value) -> String {
        match (&self.path, value.position) {
            (Some(path), Position::Line(line)) => {
                let path = Escaped(path.as_bytes());
                format!("--{} of {}:{}", value.flag.name, path, line)
            }
            _ => format!("--{}", value.flag.name),
        }
    }

    /// Returns the error with the file and the line of the value that caused it, if the value is
    /// of the file.
    pub(super) fn at(&self, value: &Value, e: impl Into<Error>) -> Error {
        let e = e.into();
        match (&self.path, value.position) {
            (Some(path), Position::Line(line)) => {
                Error::usage(format!("{}:{}: {}", Escaped(path.as_bytes()), line, e))
            }
            _ => e,
        }
    }

    /// Returns the error with the position of an option's first value.
    pub(super) fn blame(&self, name: &str, e: impl Into<Error>) -> Error {
        match self.first(name) {
            Some(value) => self.at(value, e),
            None => e.into(),
        }
    }

    /// Returns an error that no single value caused, with the file, if there is one.
    pub(super) fn whole(&self, e: Error) -> Error {
        match &self.path {
            Some(path) => Error::usage(format!("{}: {}", Escaped(path.as_bytes()), e)),
            None => e,
        }
    }
}
