//! A command line: what was typed, completed from the config file that it names.

use std::cell::RefCell;
use std::ffi::OsString;

use clap::ErrorKind;

use super::argv_scrub::SecretArgument;
use super::check_config::Summary;
use super::clap_parser::Question;
use super::config_file::ConfigFile;
use super::configure::configure;
use super::env::Environment;
use super::flags;
use super::generate::{self, help};
use super::options::{Options, EXAMPLE};
use super::password::{prompting, MissingPassword, Prompt};
use super::{clap_parser, Command};
use ptunnel_core::config::Config;
use ptunnel_core::error::Error;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::Secret;

/// A command line of which clap has checked the syntax.
pub(super) enum CommandLine {
    /// The options that were typed; a config file may complete them.
    Run(Options),
    /// The help, the version or a generated text.
    Print(String),
}

impl CommandLine {
    /// Returns what the command line asks for; reads files and prompts for passwords.
    pub(super) fn command(
        &self,
        env: &Environment<'_>,
        prompt: Prompt<'_>,
    ) -> Result<Command, Error> {
        let typed = match self {
            CommandLine::Run(typed) => typed,
            CommandLine::Print(text) => return Ok(Command::Print(text.clone())),
        };
        let is_checked = typed.is_present("check-config");
        let notes = RefCell::new(Vec::new());
        // --check-config may run where the passwords aren't.
        let warn = |_: Option<&str>, why: Error| {
            let note = format!("checked without a password: {}", why);
            let mut notes = notes.borrow_mut();
            if !notes.contains(&note) {
                notes.push(note);
            }
            Ok(Secret::new(""))
        };
        let ask = prompting(prompt);
        let missing: MissingPassword<'_> = if is_checked { &warn } else { &ask };
        let mut warnings = password_warnings(typed);
        let (config, more) = config(typed, env, missing)?;
        warnings.extend(more);
        warnings.extend(notes.into_inner());
        if is_checked {
            let warnings = warnings.iter().map(|text| format!("warning: {}\n", text));
            let text = warnings.collect::<String>() + &Summary(&config).to_string();
            return Ok(Command::Print(text.trim_end().to_string()));
        }
        Ok(Command::Run(Box::new(config), warnings))
    }

    /// Returns what must not stay on the command line.
    pub(super) fn secrets(&self) -> Vec<SecretArgument<'_>> {
        match self {
            CommandLine::Run(typed) => flags::all()
                .flat_map(|flag| typed.values(flag.name))
                .flat_map(SecretArgument::all_of)
                .collect(),
            CommandLine::Print(_) => Vec::new(),
        }
    }
}

/// Returns the configuration of the typed options and the config file that they name, and warnings.
pub(super) fn config(
    typed: &Options,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
) -> Result<(Config, Vec<String>), Error> {
    let mut warnings = Vec::new();
    let options = match typed.value_of("config") {
        Some(path) => {
            let file = ConfigFile::read(path)?.without(typed);
            warnings.extend(file.warning());
            typed.with_file(path, file.values)
        }
        None => typed.clone(),
    };
    options.check_choices()?;
    options.check_conflicts()?;
    options.check_requirements()?;
    refuse_beside_demo(&options)?;
    let config = configure(&options, env, missing, &mut warnings)?;
    Ok((config, warnings))
}

/// Parses the arguments, the first of which is the program's name.
///
/// # Errors
///
/// A usage error for an argument that isn't UTF-8, and for what clap refuses.
pub(super) fn read<I>(words: I) -> Result<CommandLine, Error>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    if let Some(index) = words.iter().position(|word| word.to_str().is_none()) {
        // Not printed, as it may be the password.
        return Err(Error::usage(format!(
            "argument {} isn't UTF-8; e.g. 8993:imap.example.org:993",
            index
        )));
    }
    let words: Vec<String> = words.into_iter().flat_map(OsString::into_string).collect();
    refuse_values_of_switches(&words)?;
    match clap_parser::parse(&words) {
        Ok(matches) => {
            if let Some(question) = Question::of(&matches) {
                return Ok(CommandLine::Print(answer(question)));
            }
            let typed = Options::typed(&matches)?;
            typed.check_conflicts()?;
            typed.check_choices()?;
            let text = typed.value_of("generate").and_then(generate::generate);
            Ok(text.map_or_else(|| CommandLine::Run(typed), CommandLine::Print))
        }
        Err(e) => Err(clap_error(&e)),
    }
}

/// Returns the example of an option.
fn example_of(name: &str) -> String {
    flags::find(name).map_or_else(|| EXAMPLE.into(), |flag| format!("e.g. {}", flag.example))
}

fn answer(question: Question) -> String {
    match question {
        Question::ShortHelp => help::short(),
        Question::Help => help::long(),
        Question::Version => format!("ptunnel {}", env!("CARGO_PKG_VERSION")),
    }
}

/// Refuses a value of a switch. clap 2 ignores it, and reads `--insecure=no` as `--insecure`.
fn refuse_values_of_switches(words: &[String]) -> Result<(), Error> {
    for word in words.iter().take_while(|word| *word != "--") {
        let end = word.find('=').filter(|_| word.starts_with("--"));
        let name = end.map(|end| &word["--".len()..end]);
        let flag = name.and_then(flags::find);
        if flag.map_or(false, |flag| flag.value.is_none()) {
            return Err(Error::usage(format!(
                "{}: a switch takes no value; remove the value, or the option",
                Escaped(word.as_bytes())
            )));
        }
    }
    Ok(())
}

/// Refuses options that name what `--demo` brings.
fn refuse_beside_demo(options: &Options) -> Result<(), Error> {
    let demo = flags::find("demo").filter(|flag| options.is_present(flag.name));
    let mut names = match demo {
        Some(flag) => flag.brings.iter(),
        None => return Ok(()),
    };
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
    flags::all()
        .filter_map(|flag| {
            let (_, instead) = flag.password?;
            typed.values(flag.name).find_map(SecretArgument::of)?;
            Some(format!(
                "other users can see the password of --{} in the process list while ptunnel \
                 starts; use {}",
                flag.name, instead
            ))
        })
        .collect()
}

/// Returns clap's error in one line.
fn clap_error(e: &clap::Error) -> Error {
    // Without the usage.
    let lines = e
        .message
        .lines()
        .take_while(|line| !line.starts_with("USAGE"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let text = words.join(" ");
    let behind = |phrase: &str| text.find(phrase).map(|start| &text[start + phrase.len()..]);
    let info = e.info.as_deref().unwrap_or_default();
    let text = match (e.kind, info) {
        (ErrorKind::UnknownArgument, [option]) => {
            let similar = behind("Did you mean --").map(|name| name.trim_end_matches('?'));
            let similar = similar.and_then(flags::find);
            let similar = similar.filter(|flag| flags::may_be_suggested(flag));
            let hint = match (flags::instead_of(option), similar) {
                (Some(instead), _) => format!("; {}", instead),
                (None, Some(flag)) => format!(": did you mean --{}?", flag.name),
                (None, None) => format!("; {}", EXAMPLE),
            };
            format!("unknown option '{}'{}", option, hint)
        }
        (ErrorKind::EmptyValue, [option]) => {
            format!("--{} needs a value; {}", option, example_of(option))
        }
        (ErrorKind::UnexpectedMultipleUsage, [option]) => {
            format!(
                "--{} can be given only once; {}",
                option,
                example_of(option)
            )
        }
        _ => format!("{}; {}", text.trim_start_matches("error: "), EXAMPLE),
    };
    Error::usage(Escaped(text.as_bytes()).to_string())
}
