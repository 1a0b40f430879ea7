//! clap's parser, made from the flag table.

use clap::{App, AppSettings, Arg, ArgMatches};

use super::flags::{self, Flag, TUNNEL};

/// The name of the flag `-h`, which prints less than `--help`.
const SHORT_HELP: &str = "short-help";

/// What a command line asks about the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    ShortHelp,
    Help,
    Version,
}

impl Question {
    /// Returns the question of a command line, if it has one.
    pub(super) fn of(matches: &ArgMatches<'_>) -> Option<Question> {
        let all = [
            (Question::Help, "help"),
            (Question::ShortHelp, SHORT_HELP),
            (Question::Version, "version"),
        ];
        let mut given = all.iter().filter(|(_, name)| matches.is_present(name));
        given.next().map(|(question, _)| *question)
    }
}

/// Parses the arguments, the first of which is the program's name. [`Options`](super::options::Options)
/// checks what options require of their values and of each other.
pub(super) fn parse(words: &[String]) -> clap::Result<ArgMatches<'static>> {
    let tunnel = Arg::with_name(TUNNEL.name).multiple(true);
    let short_help = Arg::with_name(SHORT_HELP).short("h").multiple(true);
    let args = flags::all().map(arg);
    App::new("ptunnel")
        .setting(AppSettings::ColorNever)
        .arg(tunnel)
        .arg(short_help)
        .args(&args.collect::<Vec<_>>())
        .get_matches_from_safe(words)
}

fn arg(flag: &'static Flag) -> Arg<'static, 'static> {
    let mut arg = Arg::with_name(flag.name).long(flag.name);
    // -h is an argument by itself.
    if let Some(short) = flag.short.filter(|_| flag.name != "help") {
        arg = arg.short(short);
    }
    let value = match flag.value {
        Some(value) => value,
        None => {
            let is_question = ["help", "version"].contains(&flag.name);
            return arg.multiple(flag.is_repeated || is_question);
        }
    };
    let arg = arg.takes_value(true).value_name(value);
    if flag.is_split {
        return arg.min_values(1).max_values(2);
    }
    let arg = arg.allow_hyphen_values(true);
    if flag.is_repeated {
        arg.multiple(true).number_of_values(1)
    } else {
        arg
    }
}
