//! Values of options, read from clap's matches.

use std::str::FromStr;

use clap::ArgMatches;

use crate::error::Error;

/// Behind a complaint about the command line as a whole.
pub(super) const RIGHT: &str =
    "e.g. ptunnel -p proxy.example:3128 8993:imap.example.org:993; see --help";

/// The value of an option, if it was given.
pub(super) fn one<T: FromStr<Err = Error>>(
    matches: &ArgMatches<'_>,
    name: &str,
) -> Result<Option<T>, Error> {
    let value = matches.value_of(name);
    value.map(|text| value_of(name, text)).transpose()
}

/// The values of an option that may be repeated.
pub(super) fn all<T: FromStr<Err = Error>>(
    matches: &ArgMatches<'_>,
    name: &str,
) -> Result<Vec<T>, Error> {
    let values = values(matches, name)?.into_iter();
    values.map(|(_, text)| value_of(name, text)).collect()
}

fn value_of<T: FromStr<Err = Error>>(name: &str, text: &str) -> Result<T, Error> {
    let value = text.parse();
    value.map_err(|e| Error::usage(format!("--{}: {}", name, e)))
}

/// The same as text, each with its place on the command line.
pub(super) fn values<'a>(
    matches: &'a ArgMatches<'_>,
    name: &str,
) -> Result<Vec<(usize, &'a str)>, Error> {
    let indices = matches.indices_of(name).into_iter().flatten();
    let values: Vec<(usize, &str)> = indices
        .zip(matches.values_of(name).into_iter().flatten())
        .collect();
    // clap passes over a last one without a value, if others have theirs.
    if matches.occurrences_of(name) > values.len() as u64 {
        return Err(Error::usage(format!(
            "--{} at the end has no value; {}",
            name, RIGHT
        )));
    }
    Ok(values)
}

/// A warning for each of these options that was given for nothing.
pub(super) fn of_no_use(matches: &ArgMatches<'_>, names: &[&str], why: &str) -> Vec<String> {
    let given = names.iter().filter(|name| matches.is_present(name));
    given
        .map(|name| format!("--{} is of no use: {}", name, why))
        .collect()
}
