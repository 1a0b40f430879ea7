//! A command line: what was typed, completed from the config file that it names.

use std::cell::RefCell;
use std::ffi::OsString;

use clap::ErrorKind;

use super::argv_scrub::{self, secrets, SecretArgument};
use super::check_config::Summary;
use super::clap_app::clap_app;
use super::config_file::ConfigFile;
use super::configure::configure;
use super::env::Environment;
use super::flags;
use super::options::{Options, EXAMPLE};
use super::password::{MissingPassword, Prompt, DYNAMIC_USER, SERVE_USER};
use super::{generate, Command};
use crate::config::Config;
use crate::error::Error;
use crate::text::escape::Escaped;

/// Options that name a listener, a destination or a proxy: the demo has its own.
const NOT_WITH_DEMO: &[&str] = &[
    "forward",
    "stdio",
    "dynamic",
    "serve-proxy",
    "proxy",
    "pac",
    "via",
];

/// A command line of which clap has checked the syntax.
pub(super) enum Parsed {
    CommandLine(CommandLine),
    Print(String),
}

/// The options of a command line, before its config file is read.
pub(super) struct CommandLine {
    /// The options that were typed; a file may complete them.
    pub(super) typed: Options,
}

impl Parsed {
    /// Returns what the command line asks for; reads files and prompts for passwords.
    pub(super) fn command(
        &self,
        env: &Environment<'_>,
        prompt: Prompt<'_>,
    ) -> Result<Command, Error> {
        let given = match self {
            Parsed::CommandLine(given) => given,
            Parsed::Print(text) => return Ok(Command::Print(text.clone())),
        };
        let is_checked = given.typed.is_present("check-config");
        let notes = RefCell::default();
        let missing = if is_checked {
            MissingPassword::Warn(&notes)
        } else {
            MissingPassword::Prompt(prompt)
        };
        let mut warnings = password_warnings(&given.typed);
        let (config, more) = given.config(env, missing)?;
        warnings.extend(more);
        warnings.extend(notes.into_inner());
        if is_checked {
            let warnings = warnings.iter().map(|text| format!("warning: {}\n", text));
            let text = warnings.collect::<String>() + &Summary(&config).to_string();
            return Ok(Command::Print(text.trim_end().to_string()));
        }
        Ok(Command::Run(Box::new(config), warnings))
    }

    /// Returns the passwords among the typed values.
    pub(super) fn secrets(&self) -> Vec<SecretArgument<'_>> {
        match self {
            Parsed::CommandLine(given) => argv_scrub::OPTIONS
                .iter()
                .flat_map(|option| secrets(&given.typed, option))
                .collect(),
            Parsed::Print(_) => Vec::new(),
        }
    }
}

impl CommandLine {
    /// Returns the configuration, completed from the config file, and warnings.
    pub(super) fn config(
        &self,
        env: &Environment<'_>,
        missing: MissingPassword<'_>,
    ) -> Result<(Config, Vec<String>), Error> {
        let mut warnings = Vec::new();
        let options = match self.typed.value_of("config") {
            Some(path) => {
                let file = ConfigFile::read(path)?.without(&self.typed);
                warnings.extend(file.warning());
                self.typed.with_file(path, file.values)
            }
            None => self.typed.clone(),
        };
        options.check()?;
        refuse_beside_demo(&options)?;
        let config = configure(&options, env, missing, &mut warnings)?;
        Ok((config, warnings))
    }
}

/// Parses the arguments, the first of which is the program's name.
///
/// # Errors
///
/// A usage error for an argument that isn't UTF-8, and for what clap refuses.
pub(super) fn read<I>(words: I) -> Result<Parsed, Error>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    if let Some(place) = words.iter().position(|word| word.to_str().is_none()) {
        // Not shown: it may be the password.
        return Err(Error::usage(format!(
            "argument {} isn't UTF-8; e.g. 8993:imap.example.org:993",
            place
        )));
    }
    let words: Vec<String> = words.into_iter().flat_map(OsString::into_string).collect();
    refuse_values_of_switches(&words)?;
    match clap_app().get_matches_from_safe(&words) {
        Ok(typed) => match typed.value_of("generate").and_then(generate::generate) {
            Some(text) => Ok(Parsed::Print(text)),
            None => Ok(Parsed::CommandLine(CommandLine {
                typed: Options::typed(&typed)?,
            })),
        },
        Err(e) => match e.kind {
            // The version clap has printed already, all but the end of the line.
            ErrorKind::HelpDisplayed | ErrorKind::VersionDisplayed => Ok(Parsed::Print(e.message)),
            _ => Err(clap_error(&e)),
        },
    }
}

/// clap 2 leaves such a value out in silence, and takes `--insecure=no` for `--insecure`.
fn refuse_values_of_switches(words: &[String]) -> Result<(), Error> {
    for word in words.iter().take_while(|word| *word != "--") {
        let end = word.find('=').filter(|_| word.starts_with("--"));
        let name = end.map(|end| &word["--".len()..end]);
        let flag = name.and_then(flags::find);
        if flag.map_or(false, |flag| flag.value.is_none()) {
            return Err(Error::usage(format!(
                "{}: a switch takes no value; {}",
                Escaped(word.as_bytes()),
                EXAMPLE
            )));
        }
    }
    Ok(())
}

fn refuse_beside_demo(options: &Options) -> Result<(), Error> {
    if !options.is_present("demo") {
        return Ok(());
    }
    let mut names = NOT_WITH_DEMO.iter();
    let beside = if let Some(tunnel) = options.value_of("tunnel") {
        format!("the tunnel '{}'", Escaped(tunnel.as_bytes()))
    } else if let Some(option) = names.find(|option| options.is_present(option)) {
        format!("--{}", option)
    } else {
        return Ok(());
    };
    let e = Error::usage(format!(
        "--demo brings its own tunnel and proxy and can't be combined with {}; e.g. ptunnel --demo",
        beside
    ));
    Err(options.whole(e))
}

/// Returns a warning for each option with a password: other users can see the command line.
fn password_warnings(typed: &Options) -> Vec<String> {
    let options = argv_scrub::OPTIONS.iter();
    options
        .filter(|option| secrets(typed, option).next().is_some())
        .map(|option| {
            let instead = match *option {
                "dynamic-user" => DYNAMIC_USER.variable,
                "serve-user" => SERVE_USER.variable,
                "via" => "--proxy-netrc or --config",
                _ => "--password-file or PTUNNEL_PASSWORD",
            };
            format!(
                "the password in --{} can be seen in the list of processes while the program \
                 starts; use {}",
                option, instead
            )
        })
        .collect()
}

/// Returns clap's error in one line.
fn clap_error(e: &clap::Error) -> Error {
    // All but the usage that it prints.
    let lines = e
        .message
        .lines()
        .take_while(|line| !line.starts_with("USAGE"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let text = words.join(" ");
    let behind = |phrase: &str| text.find(phrase).map(|start| &text[start + phrase.len()..]);
    let info = e.info.as_deref().unwrap_or_default();
    let text = match (e.kind, info) {
        (ErrorKind::UnknownArgument, [option]) => match behind("Did you mean ") {
            Some(similar) => format!("unknown option '{}': did you mean {}", option, similar),
            None => format!("unknown option '{}'; {}", option, EXAMPLE),
        },
        (ErrorKind::EmptyValue, [option]) => format!("--{} needs a value; {}", option, EXAMPLE),
        (ErrorKind::InvalidValue, [option, value]) => {
            let choices = flags::find(option).map_or(String::new(), |flag| flag.choices.join(", "));
            format!("--{}: '{}' isn't one of {}", option, value, choices)
        }
        _ => format!("{}; {}", text.trim_start_matches("error: "), EXAMPLE),
    };
    Error::usage(Escaped(text.as_bytes()).to_string())
}
