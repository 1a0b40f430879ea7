//! A configuration file: the options of the command line by their long names, in TOML.
//!
//! Each value of it becomes a word, `--name=value`, in front of those that were typed. So there
//! is one definition of what exists and one judgement of what is right: clap's and `configure`'s.
//! What was typed goes before what is written: see `yields`.

mod nesting;
mod toml;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;

use clap::ArgMatches;

use self::toml::{Item, Value};
use super::argv::Secretive;
use super::file_mode;
use super::flag_table::{self, Flag};
use crate::error::Error;
use crate::text::escape::Escaped;

/// The name of the tunnels in a file: on the command line they have none.
const TUNNELS: &str = "tunnels";

/// What is asked of the program once, and so typed.
const NOT_IN_A_FILE: &[&str] = &[
    "config",
    "check-config",
    "generate",
    "help",
    "test",
    "version",
];

/// What is typed, and what of a file it replaces besides its own name and what clap says it
/// contradicts.
const REPLACES: &[(&str, &[&str])] = &[
    ("tunnel", &["forward", "stdio"]),
    ("forward", &["stdio"]),
    (
        "stdio",
        &[
            "forward",
            "dynamic",
            "dynamic-user",
            "serve-proxy",
            "serve-user",
            "serve-allow",
        ],
    ),
    ("dynamic", &["stdio"]),
    ("serve-proxy", &["stdio"]),
    ("threads", &["multithreaded"]),
    ("multithreaded", &["threads"]),
    // They belong to the user who is written there.
    ("user", &["password", "password-file"]),
];

/// A file, read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: String,
    entries: Vec<Entry>,
    /// How it is kept from others, if they may read it.
    remedy: Option<String>,
}

/// One value of an option.
#[derive(Debug)]
struct Entry {
    line: usize,
    /// What clap calls the option.
    name: &'static str,
    /// What would be typed.
    word: String,
}

impl ConfigFile {
    /// Reads the file; what its values mean isn't looked at.
    ///
    /// # Errors
    ///
    /// When there is none, when it is no TOML, or holds what no option could be.
    pub(super) fn read(path: &str) -> Result<ConfigFile, Error> {
        let fail = |e: &dyn fmt::Display| {
            Error::usage(format!("--config '{}': {}", Escaped(path.as_bytes()), e))
        };
        let mut file = File::open(path).map_err(|e| fail(&e))?;
        let metadata = file.metadata().map_err(|e| fail(&e))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| fail(&e))?;
        let entries = entries(&text).map_err(|(line, why)| at(path, Some(line), why))?;
        Ok(ConfigFile {
            path: path.to_string(),
            entries,
            remedy: file_mode::remedy(path, &metadata),
        })
    }

    /// Leaves out what was typed, too, or can't be had together with what was.
    pub(super) fn yield_to(&mut self, typed: &ArgMatches<'_>) {
        let options = flag_table::options();
        self.entries
            .retain(|entry| !yields(entry.name, typed, &options));
    }

    /// What `configure` makes of the file's words. A complaint about one of them names its line; one
    /// about what was `typed` says nothing of the file. Which it is, `judge` knows, who sees some
    /// words by themselves.
    pub(super) fn apply<T>(
        &self,
        typed: &[String],
        configure: impl Fn(&[&str]) -> Result<T, Error>,
        judge: impl Fn(&[&str]) -> Result<(), Error>,
    ) -> Result<T, Error> {
        let words: Vec<&str> = self.entries.iter().map(|entry| &entry.word[..]).collect();
        configure(&words).map_err(|complaint| {
            let text = complaint.to_string();
            let draw_it = |words: &[&str]| {
                let alone = judge(words);
                alone.err().map_or(false, |e| e.to_string() == text)
            };
            let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
            if draw_it(&typed) {
                return complaint;
            }
            let mut entries = self.entries.iter();
            let alone = entries.find(|entry| draw_it(&[&entry.word]));
            let cause = alone.or_else(|| self.last_of_conflict(&words, draw_it));
            at(&self.path, cause.map(|entry| entry.line), text)
        })
    }

    /// The last of several entries that only together draw a complaint: that of the shortest
    /// beginning of the file that draws it.
    fn last_of_conflict(
        &self,
        words: &[&str],
        draw_it: impl Fn(&[&str]) -> bool,
    ) -> Option<&Entry> {
        let (mut without, mut with) = (0, words.len());
        while with - without > 1 {
            let middle = without + (with - without) / 2;
            if draw_it(&words[..middle]) {
                with = middle;
            } else {
                without = middle;
            }
        }
        let is_found = with > 0 && draw_it(&words[..with]) && !draw_it(&words[..with - 1]);
        self.entries.get(with.checked_sub(1)?).filter(|_| is_found)
    }

    /// A word of warning when others can read a password in it.
    pub(super) fn warning(&self) -> Option<String> {
        let holds_password = self.entries.iter().any(|entry| {
            let value = entry
                .word
                .find('=')
                .map_or("", |end| &entry.word[end + 1..]);
            Secretive::of(entry.name, value).is_some()
        });
        let remedy = self.remedy.as_ref().filter(|_| holds_password)?;
        Some(format!(
            "others can read the password in {}: {}, or keep it in a --password-file",
            Escaped(self.path.as_bytes()),
            remedy
        ))
    }
}

/// `FILE:LINE: why`.
fn at(path: &str, line: Option<usize>, why: impl fmt::Display) -> Error {
    let path = Escaped(path.as_bytes());
    Error::usage(match line {
        Some(line) => format!("{}:{}: {}", path, line, why),
        None => format!("{}: {}", path, why),
    })
}

/// Whether what stands in a file under this name gives way to what was typed.
fn yields(name: &str, typed: &ArgMatches<'_>, options: &[Flag]) -> bool {
    let conflicts = |of: &str, with: &str| {
        let flag = options.iter().find(|flag| flag.name == of);
        flag.map_or(false, |flag| flag.conflicts.contains(&with))
    };
    let replaced = REPLACES
        .iter()
        .any(|(given, replaced)| typed.is_present(given) && replaced.contains(&name));
    let contradicted = options.iter().any(|flag| {
        typed.is_present(flag.name) && (conflicts(flag.name, name) || conflicts(name, flag.name))
    });
    typed.is_present(name) || replaced || contradicted
}

/// What `entries` makes of a text, each word with its line.
pub fn words_of_text(text: &str) -> Result<Vec<(usize, String)>, (usize, String)> {
    let entries = entries(text)?;
    Ok(entries.into_iter().map(|it| (it.line, it.word)).collect())
}

/// The words of a file's text.
fn entries(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    nesting::check(text)?;
    let options = flag_table::options();
    let mut entries = Vec::new();
    let mut lines = HashMap::new();
    for Item { line, key, value } in toml::items(text)? {
        if let Some(first) = lines.insert(key.clone(), line) {
            let key = Escaped(key.as_bytes());
            return Err((line, format!("'{}' is already set on line {}", key, first)));
        }
        let name = if key == TUNNELS { "forward" } else { &key[..] };
        let known = options.iter().find(|flag| flag.long == Some(name));
        match known {
            Some(flag) if !NOT_IN_A_FILE.contains(&name) => {
                let words = words(flag, line, value).map_err(|found| {
                    let (expected, example) = expected(flag, &key);
                    let why = format!(
                        "'{}' takes {}, not {}; e.g. {}",
                        key, expected, found, example
                    );
                    (line, why)
                })?;
                entries.extend(words);
            }
            Some(_) => {
                let why = format!(
                    "'{}' is for the command line; it can't stand in a file",
                    key
                );
                return Err((line, why));
            }
            None => return Err((line, unknown(&key, &options))),
        }
    }
    Ok(entries)
}

fn unknown(key: &str, options: &[Flag]) -> String {
    // As much alike as clap would ask for, to say so.
    let mut alike: Vec<&str> = options
        .iter()
        .filter_map(|flag| flag.long)
        .chain(Some(TUNNELS))
        .filter(|name| !NOT_IN_A_FILE.contains(name) && is_alike(name, key))
        .collect();
    alike.sort_unstable();
    let hint = match alike.first() {
        Some(name) => format!("did you mean '{}'?", name),
        None => "options have their long names here, and tunnels stand in 'tunnels'".to_string(),
    };
    format!("no option '{}': {}", Escaped(key.as_bytes()), hint)
}

/// One letter more, less or other, or another way to part words.
fn is_alike(name: &str, key: &str) -> bool {
    let key = key.replace('_', "-");
    let (name, key) = (name.as_bytes(), key.as_bytes());
    let front = name.iter().zip(key).take_while(|(a, b)| a == b).count();
    let back = name.iter().rev().zip(key.iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let longest = name.len().max(key.len());
    longest <= name.len().min(key.len()) + 1 && front + back + 1 >= longest
}

/// One value's words; the error says what was found instead.
fn words(flag: &Flag, line: usize, value: Value) -> Result<Vec<Entry>, String> {
    let long = flag.long.unwrap_or(flag.name);
    let entry = |line, word| Entry {
        line,
        name: flag.name,
        word,
    };
    let with = |value: String| format!("--{}={}", long, value);
    match (flag.value.is_some(), value) {
        (true, Value::Text(text)) | (true, Value::Number(text)) => {
            Ok(vec![entry(line, with(text))])
        }
        (true, Value::List(items)) if flag.is_repeated => items
            .into_iter()
            .map(|(line, item)| match item {
                Value::Text(text) | Value::Number(text) => Ok(entry(line, with(text))),
                other => Err(format!("{} inside the list", other.kind())),
            })
            .collect(),
        (false, Value::Truth(truth)) => {
            let words = Some(entry(line, format!("--{}", long))).filter(|_| truth);
            Ok(words.into_iter().collect())
        }
        (false, Value::Number(count)) if flag.is_repeated => match count.parse::<u8>() {
            Ok(count) => Ok((0..count)
                .map(|_| entry(line, format!("--{}", long)))
                .collect()),
            Err(_) => Err(count),
        },
        (_, other) => Err(other.kind().into()),
    }
}

/// What an option takes, and an example of it.
fn expected(flag: &Flag, key: &str) -> (&'static str, String) {
    match (flag.value, flag.is_repeated) {
        (Some(value), true) => (
            "a string or a list of strings",
            format!("{} = [\"{}\"]", key, value),
        ),
        (Some(value), false) => ("a string or a number", format!("{} = \"{}\"", key, value)),
        (None, true) => (
            "true, false or a whole number from 0 to 255",
            format!("{} = 2", key),
        ),
        (None, false) => ("true or false", format!("{} = true", key)),
    }
}

#[cfg(test)]
mod tests;
