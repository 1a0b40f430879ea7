//! The config file: the options of the command line by their long names, in TOML.
//!
//! Names and kinds of the values come from the flag table, their lines from the parser. Typed options
//! replace those of the file: see `is_replaced`.
//!
//! Must not hold the definition of an option, which is in `flags`, or the syntax of its value, which
//! is in [`ptunnel_proto::values`]. `command_line` uses it.

mod nesting;
mod toml;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};

use self::toml::TomlValue;
use super::argv_scrub::SecretArgument;
use super::file_permissions;
use super::flags::{self, Flag};
use super::options::{Options, Position, Value};
use ptunnel_core::error::Error;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::file_fault;

/// A config file.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: String,
    pub(super) values: Vec<Value>,
    /// The command that removes the access of other users, if they have any.
    remedy: Option<String>,
}

impl ConfigFile {
    /// Reads the file and checks the names and kinds of its values, not their meaning.
    ///
    /// # Errors
    ///
    /// A usage error when the file can't be read, isn't TOML, or has a name or a kind of value that
    /// no option has.
    pub(super) fn read(path: &str) -> Result<ConfigFile, Error> {
        let fail = |e: io::Error| {
            let (path, why) = (Escaped(path.as_bytes()), file_fault(&e));
            Error::usage(format!("--config '{}': {}", path, why))
        };
        let mut file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let values = values(&text).map_err(|(line, why)| {
            Error::usage(format!("{}:{}: {}", Escaped(path.as_bytes()), line, why))
        })?;
        Ok(ConfigFile {
            path: path.to_string(),
            values,
            remedy: file_permissions::remedy(path, &metadata),
        })
    }

    /// Returns the file without the values that the command line replaces or contradicts.
    pub(super) fn without(mut self, typed: &Options) -> ConfigFile {
        self.values.retain(|value| !is_replaced(value.flag, typed));
        self
    }

    /// Returns a warning if other users can read a password in the file.
    pub(super) fn warning(&self) -> Option<String> {
        let holds_password = self.values.iter().find_map(SecretArgument::of).is_some();
        let remedy = self.remedy.as_ref().filter(|_| holds_password)?;
        Some(format!(
            "other users can read the password in {}; run {}, or move it to a --password-file",
            Escaped(self.path.as_bytes()),
            remedy
        ))
    }
}

/// Returns whether typed options replace or contradict this option of a file.
fn is_replaced(flag: &Flag, typed: &Options) -> bool {
    let replaced = flag.replaced_by.iter().any(|given| typed.is_present(given));
    let contradicted = flags::all().any(|other| {
        let is_conflict =
            other.conflicts.contains(&flag.name) || flag.conflicts.contains(&other.name);
        is_conflict && typed.is_present(other.name)
    });
    typed.is_present(flag.name) || replaced || contradicted
}

/// Returns the values of a text as they would be typed, each with its line; for fuzz/ and tests.
pub fn words_of_text(text: &str) -> Result<Vec<(usize, String)>, (usize, String)> {
    let word = |value: Value| {
        let line = match value.position {
            Position::Line(index) | Position::Word(index) => index,
        };
        let word = match value.text {
            Some(text) => format!("--{}={}", value.flag.name, text),
            None => format!("--{}", value.flag.name),
        };
        (line, word)
    };
    Ok(values(text)?.into_iter().map(word).collect())
}

/// Returns the values of a file's text; an error comes with its line, from 1.
fn values(text: &str) -> Result<Vec<Value>, (usize, String)> {
    nesting::check(text)?;
    let mut values = Vec::new();
    let mut lines = HashMap::new();
    for (key, value) in toml::items(text)? {
        let line = toml::line_of(text, key.start());
        let key = key.into_inner();
        if let Some(first) = lines.insert(key.clone(), line) {
            let key = Escaped(key.as_bytes());
            let why = format!("'{}' is already set on line {}; remove one", key, first);
            return Err((line, why));
        }
        match flags::all().find(|flag| flag.keys().any(|it| it == key)) {
            Some(flag) => {
                let read = of_item(flag, line, value, text).map_err(|found| {
                    let why = format!(
                        "'{}' takes {}, not {}; e.g. {}",
                        key,
                        expected(flag),
                        found,
                        flag.toml_of(&key)
                    );
                    (line, why)
                })?;
                values.extend(read);
            }
            None if flags::find(&key).is_some() => {
                let why = format!("'{}' is for the command line; remove it from the file", key);
                return Err((line, why));
            }
            None => return Err((line, unknown(&key))),
        }
    }
    Ok(values)
}

fn unknown(key: &str) -> String {
    let mut alike: Vec<&str> = flags::all()
        .filter(|flag| flags::may_be_suggested(flag))
        .flat_map(|flag| flag.keys())
        .filter(|name| is_alike(name, key))
        .collect();
    alike.sort_unstable();
    let hint = match alike.first() {
        Some(name) => format!("did you mean '{}'?", name),
        None => "keys are the long names of options, and 'tunnels'; e.g. idle-timeout = 3600"
            .to_string(),
    };
    format!("no option '{}': {}", Escaped(key.as_bytes()), hint)
}

/// Whether the names differ by at most one letter, or by `_` for `-`.
fn is_alike(name: &str, key: &str) -> bool {
    let key = key.replace('_', "-");
    let (name, key) = (name.as_bytes(), key.as_bytes());
    let front = name.iter().zip(key).take_while(|(a, b)| a == b).count();
    let back = name.iter().rev().zip(key.iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let longest = name.len().max(key.len());
    longest <= name.len().min(key.len()) + 1 && front + back + 1 >= longest
}

/// Returns the values of one item; the error says what was found instead.
fn of_item(
    flag: &'static Flag,
    line: usize,
    item: TomlValue,
    text: &str,
) -> Result<Vec<Value>, String> {
    let value = |line, text| Value {
        flag,
        text,
        position: Position::Line(line),
    };
    match (flag.value.is_some(), item) {
        (true, TomlValue::Text(text)) | (true, TomlValue::Number(text)) => {
            Ok(vec![value(line, Some(text))])
        }
        (true, TomlValue::List(items)) if flag.is_repeated => items
            .into_iter()
            .map(
                |item| match (toml::line_of(text, item.start()), item.into_inner()) {
                    (line, TomlValue::Text(text)) | (line, TomlValue::Number(text)) => {
                        Ok(value(line, Some(text)))
                    }
                    (_, other) => Err(format!("{} inside the list", other.kind())),
                },
            )
            .collect(),
        (false, TomlValue::Bool(truth)) => Ok(vec![value(line, None); truth.into()]),
        (false, TomlValue::Number(count)) if flag.is_repeated => match count.parse::<u8>() {
            Ok(count) => Ok(vec![value(line, None); count.into()]),
            Err(_) => Err(count),
        },
        (_, other) => Err(other.kind().into()),
    }
}

/// Returns the kind of value that an option takes.
fn expected(flag: &Flag) -> &'static str {
    match (flag.value.is_some(), flag.is_repeated) {
        (true, true) => "a string or a list of strings",
        (true, false) => "a string or a number",
        (false, true) => "true, false or a whole number from 0 to 255",
        (false, false) => "true or false",
    }
}

#[cfg(test)]
mod tests;
