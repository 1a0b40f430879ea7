//! The flag table: one entry per flag and option, in the order of the help, with the help's texts.
//!
//! clap's parser, the config file, the manual page and the completions are made from it, and the
//! rules that compare options or hide passwords read it. It must not hold a value's syntax (`config`) or
//! what an option does. Only `cli` uses it.

mod listeners;
mod program;
mod proxies;

use std::fmt;
use std::time::Duration;

/// A flag, or an option with a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// The long name without hyphens.
    pub(super) name: &'static str,
    pub(super) short: Option<&'static str>,
    /// The placeholder of the value in the help; `None` for a flag.
    pub(super) value: Option<&'static str>,
    /// The values, or those that have a name.
    pub(super) choices: &'static [&'static str],
    /// Whether `choices` are all values.
    pub(super) is_closed: bool,
    /// Whether it can be given several times.
    pub(super) is_repeated: bool,
    /// Whether the word after the value may be part of it, as in `-W HOST PORT`.
    pub(super) is_split: bool,
    /// The option that must also be given.
    pub(super) requires: Option<&'static str>,
    /// The options that can't also be given.
    pub(super) conflicts: &'static [&'static str],
    /// The options that name what this one brings itself, so that they can't also be given.
    pub(super) brings: &'static [&'static str],
    /// The options, beside itself and those in conflict, that replace the file's value when typed.
    pub(super) replaced_by: &'static [&'static str],
    /// Whether the config file can have it, under its long name.
    pub(super) is_in_file: bool,
    /// The other key in the config file.
    other_key: Option<&'static str>,
    /// The password in the value, and what to use instead where other users can see the value.
    pub(super) password: Option<(PasswordPart, &'static str)>,
    /// What holds without the option: a value, or words where no value means the same.
    default: Option<DefaultValue>,
    /// The default beside `--stdio`, if that has its own.
    stdio_default: Option<DefaultValue>,
    /// A valid value for errors, where those of its type come without one.
    pub(super) example: Option<&'static str>,
    /// The help, with `{}` for each default.
    help: &'static str,
}

/// A default as it would be typed.
#[derive(Clone, Copy, Debug)]
enum DefaultValue {
    Text(&'static str),
    /// Seconds; `None` is 0, which stands for no limit.
    Time(Option<Duration>),
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::Text(text) => f.write_str(text),
            DefaultValue::Time(time) => time.map_or(0, |time| time.as_secs()).fmt(f),
        }
    }
}

/// The part of a value that is a password.
#[derive(Clone, Copy, Debug)]
pub(super) enum PasswordPart {
    /// The whole value.
    Whole,
    /// What follows the colon in `USER[:PASSWORD]`.
    Login,
    /// The password in `[SCHEME://][USER[:PASSWORD]@]HOST`.
    Url,
}

/// Defines methods that return the flag with other fields.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $kind:ty),*) {
        $($field:ident: $value:expr),+
    })*) => {$(
        $(#[$doc])*
        const fn $name(self, $($arg: $kind),*) -> Flag {
            Flag { $($field: $value,)+ ..self }
        }
    )*};
}

impl Flag {
    /// A flag without a value.
    const fn switch(name: &'static str, help: &'static str) -> Flag {
        Flag {
            name,
            short: None,
            value: None,
            choices: &[],
            is_closed: false,
            is_repeated: false,
            is_split: false,
            requires: None,
            conflicts: &[],
            brings: &[],
            replaced_by: &[],
            is_in_file: true,
            other_key: None,
            password: None,
            default: None,
            stdio_default: None,
            example: None,
            help,
        }
    }

    /// An option with one value; giving it twice is an error.
    const fn option(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag {
            value: Some(value),
            ..Flag::switch(name, help)
        }
    }

    setters! {
        short(short: &'static str) { short: Some(short) }
        repeated() { is_repeated: true }
        split() { is_split: true }
        one_of(choices: &'static [&'static str]) { choices: choices, is_closed: true }
        /// Names values that shells offer beside any others.
        suggesting(choices: &'static [&'static str]) { choices: choices }
        requires(name: &'static str) { requires: Some(name) }
        conflicts(names: &'static [&'static str]) { conflicts: names }
        brings(names: &'static [&'static str]) { brings: names }
        replaced_by(names: &'static [&'static str]) { replaced_by: names }
        typed_only() { is_in_file: false }
        other_key(key: &'static str) { other_key: Some(key) }
        password(part: PasswordPart, instead: &'static str) { password: Some((part, instead)) }
        default(text: &'static str) { default: Some(DefaultValue::Text(text)) }
        /// Sets the default of an option that takes seconds, and their example.
        default_time(time: Option<Duration>) {
            default: Some(DefaultValue::Time(time)), example: Some("2.5")
        }
        default_with_stdio(time: Duration) { stdio_default: Some(DefaultValue::Time(Some(time))) }
        example(example: &'static str) { example: Some(example) }
    }

    /// Returns the help with the defaults.
    pub(super) fn help(&self) -> String {
        let defaults = self.default.iter().chain(&self.stdio_default);
        defaults.fold(self.help.to_string(), |help, default| {
            help.replacen("{}", &default.to_string(), 1)
        })
    }

    /// Returns the default as it would be typed; empty if there is none.
    pub(super) fn default_text(&self, has_stdio: bool) -> String {
        let special = self.stdio_default.filter(|_| has_stdio);
        let default = special.or(self.default);
        default.map_or(String::new(), |default| default.to_string())
    }

    /// Returns the keys in the config file.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        let name = Some(self.name).filter(|_| self.is_in_file);
        name.into_iter().chain(self.other_key)
    }

    /// Returns the spellings, as `-p` and `--proxy`.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        let short = self.short.map(|short| format!("-{}", short));
        short.into_iter().chain(Some(format!("--{}", self.name)))
    }
}

/// The environment variable with the password of `--dynamic-user`.
pub(super) const DYNAMIC_PASSWORD: &str = "PTUNNEL_DYNAMIC_PASSWORD";

/// The environment variable with the password of `--serve-user`.
pub(super) const SERVE_PASSWORD: &str = "PTUNNEL_SERVE_PASSWORD";

/// Returns the flag with this name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

/// The values of `--generate`.
pub(super) const GENERATED: &[&str] = &["man", "complete-bash", "complete-zsh", "complete-fish"];

/// The groups of flags, each with its heading, in the order of the help.
pub(super) const GROUPS: &[(&str, &[Flag])] = &[
    ("Tunnels and proxies", proxies::TUNNELS),
    ("TLS", proxies::TLS),
    ("Choice of proxy", proxies::SELECTION),
    ("Authentication and requests", proxies::REQUESTS),
    ("Listeners", listeners::LISTENERS),
    ("Timeouts", listeners::TIMEOUTS),
    ("Resources", listeners::RESOURCES),
    ("Services", listeners::SERVICES),
    ("Modes and configuration", program::MODES),
    ("Logging", program::LOGGING),
    ("Information", program::INFORMATION),
];

/// The positional argument.
pub(super) const TUNNEL: &Flag = &Flag::option(
    "tunnel",
    "TUNNEL",
    "[BIND:]PORT:[tls://]HOST:HOSTPORT, with a PATH or fd:NAME for the port",
)
.repeated();

/// Returns the flags in the order of the help; [`TUNNEL`] isn't one of them.
pub(super) fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|(_, flags)| flags.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_default_has_a_place_in_the_help() {
        for flag in all() {
            let defaults = flag.default.iter().chain(&flag.stdio_default);
            let holes = flag.help.matches("{}").count();
            assert_eq!(defaults.count(), holes, "{}", flag.name);
        }
    }

    /// A misspelt name would never match.
    #[test]
    fn flags_refer_to_flags() {
        for flag in all() {
            let others = flag.requires.iter().chain(flag.conflicts);
            let others = others.chain(flag.brings).chain(flag.replaced_by);
            for name in others.filter(|name| **name != TUNNEL.name) {
                assert!(find(name).is_some(), "{} of {:?}", name, flag);
            }
        }
    }
}
