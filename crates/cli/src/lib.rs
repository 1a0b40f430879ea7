//! The command line and the configuration file: from arguments to a [`Config`].
//!
//! Holds the flag table, the config file, the environment variables, passwords, generated texts
//! (help, man page, reference, completions), and what `main` does before and after it serves. It is
//! the only user of clap. It must not hold anything that polls or opens a network socket, or a
//! value's own syntax, which is in [`ptunnel_proto::values`]. It uses `ptunnel-core` and
//! `ptunnel-proto`; the program and the rungs of `compat/ladder` call [`run()`].

#![forbid(unsafe_code)]

mod argv_scrub;
mod check_config;
mod clap_parser;
mod command_line;
mod config_file;
mod config_source;
mod configure;
pub mod env;
mod file_permissions;
mod flags;
mod generate;
mod options;
mod password;
mod proxy_logins;
mod route;
mod run;
mod timeouts;
mod tls;
mod users;

use std::ffi::OsString;

/// Used by fuzz/.
#[doc(hidden)]
pub use self::config_file::words_of_text;
pub use self::password::Prompt;
pub use self::run::run;

use self::env::Environment;
use ptunnel_core::config::Config;
use ptunnel_core::error::Error;

/// What a command line asks for.
#[derive(Debug)]
pub enum Command {
    /// Run with this configuration, after logging these warnings.
    Run(Box<Config>, Vec<String>),
    /// Print this text and exit: the help, the version, a generated text, or a summary.
    Print(String),
}

/// Parses the arguments of a command line, the first of which is the program's name.
///
/// # Errors
///
/// A usage error that shows the wrong text and an example.
pub fn parse<I>(words: I, env: &Environment<'_>, prompt: Prompt<'_>) -> Result<Command, Error>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    command_line::read(words)?.command(env, prompt)
}

#[cfg(test)]
mod tests;
