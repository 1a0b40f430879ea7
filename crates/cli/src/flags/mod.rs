//! The flag table: one entry per flag and option, in the order of the help, with all its texts.
//!
//! clap's parser, the config file, the help, the manual page, the reference and the completions are
//! made from it, and the rules that compare options or hide passwords read it. It must not hold a
//! value's syntax ([`ptunnel_proto::values`]) or what an option does. Only this crate uses it.

mod authentication;
mod example;
mod limits;
mod listeners;
mod other_names;
mod program;
mod proxies;
mod services;
mod tls;

use std::time::Duration;

pub(super) use self::example::words;
pub(super) use self::other_names::{instead_of, may_be_suggested};

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
    /// The environment variables that replace or complete the value.
    pub(super) variables: &'static [&'static str],
    default: Option<DefaultValue>,
    /// The part of the value that the default is for, if it isn't the whole.
    default_part: Option<&'static str>,
    /// The default beside `--stdio`, if that has its own.
    stdio_default: Option<DefaultValue>,
    /// A valid value for errors, where those of its type come without one.
    pub(super) valid: Option<&'static str>,
    /// The help in one line, without a full stop.
    pub(super) help: &'static str,
    /// What the help leaves out, in paragraphs that an empty line separates. Code is in backticks.
    pub(super) description: &'static str,
    /// A command with the option and a valid value.
    pub(super) example: &'static str,
}

/// What holds without the option.
#[derive(Clone, Copy, Debug)]
enum DefaultValue {
    /// A value as it would be typed.
    Text(&'static str),
    /// Words, where no value means the same.
    Words(&'static str),
    /// Seconds; `None` is 0, which stands for no limit.
    Time(Option<Duration>),
}

impl DefaultValue {
    /// Returns the default as it would be typed, or nothing.
    fn typed(self) -> String {
        match self {
            DefaultValue::Text(text) => text.to_string(),
            DefaultValue::Words(_) => String::new(),
            DefaultValue::Time(time) => time.map_or(0, |time| time.as_secs()).to_string(),
        }
    }

    /// Returns the default for readers.
    fn shown(self) -> String {
        match self {
            DefaultValue::Words(words) => words.to_string(),
            DefaultValue::Time(None) => "0, no limit".to_string(),
            _ => self.typed(),
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
    /// The password in `SCHEME://[USER[:PASSWORD]@]HOST/PATH`; the path of a file has none.
    PathOrUrl,
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
            variables: &[],
            default: None,
            default_part: None,
            stdio_default: None,
            valid: None,
            help,
            description: "",
            example: "",
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
        variables(names: &'static [&'static str]) { variables: names }
        default(text: &'static str) { default: Some(DefaultValue::Text(text)) }
        default_words(words: &'static str) { default: Some(DefaultValue::Words(words)) }
        /// Sets the default of a part of the value.
        default_of(part: &'static str, text: &'static str) {
            default: Some(DefaultValue::Text(text)), default_part: Some(part)
        }
        /// Sets the default of an option that takes seconds, and a valid value.
        default_time(time: Option<Duration>) {
            default: Some(DefaultValue::Time(time)), valid: Some("2.5")
        }
        default_with_stdio(time: Duration) { stdio_default: Some(DefaultValue::Time(Some(time))) }
        valid(value: &'static str) { valid: Some(value) }
        described(description: &'static str) { description: description }
        example(example: &'static str) { example: example }
    }

    /// Returns the default for readers; `None` if nothing is set without the option.
    pub(super) fn shown_default(&self) -> Option<String> {
        let mut text = self.default?.shown();
        if let Some(part) = self.default_part {
            text = format!("{} for {}", text, part);
        }
        if let Some(default) = self.stdio_default {
            text = format!("{}; {} with --stdio", text, default.shown());
        }
        Some(text)
    }

    /// Returns the default as it would be typed; empty if there is none.
    pub(super) fn default_text(&self, has_stdio: bool) -> String {
        let special = self.stdio_default.filter(|_| has_stdio);
        let default = special.or(self.default);
        default.map_or(String::new(), DefaultValue::typed)
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

    /// Returns the options that can't also be given, in the order of the help.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &'static Flag> + '_ {
        all().filter(move |other| self.excludes(other) || other.excludes(self))
    }

    fn excludes(&self, other: &Flag) -> bool {
        self.conflicts.contains(&other.name) || self.brings.contains(&other.name)
    }
}

/// The environment variable with the password for proxies.
pub(super) const PROXY_PASSWORD: &str = "PTUNNEL_PASSWORD";

/// The environment variable with the password of `--dynamic-user`.
pub(super) const DYNAMIC_PASSWORD: &str = "PTUNNEL_DYNAMIC_PASSWORD";

/// The environment variable with the password of `--serve-user`.
pub(super) const SERVE_PASSWORD: &str = "PTUNNEL_SERVE_PASSWORD";

/// The address of listeners without one.
const LOOPBACK: &str = "127.0.0.1";

/// Returns the flag with this name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

/// The values of `--generate`.
pub(super) const GENERATED: &[&str] = &[
    "man",
    "reference",
    "complete-bash",
    "complete-zsh",
    "complete-fish",
];

/// The groups of flags, each with its heading, in the order of the help.
pub(super) const GROUPS: &[(&str, &[Flag])] = &[
    ("Tunnels and listeners", listeners::LISTENERS),
    ("Proxies", proxies::PROXIES),
    ("Proxy authentication", authentication::AUTHENTICATION),
    ("TLS to proxies", tls::PROXIES),
    ("TLS to destinations", tls::DESTINATIONS),
    ("TLS with clients", tls::CLIENTS),
    ("Timeouts", limits::TIMEOUTS),
    ("Connections and threads", limits::RESOURCES),
    ("HTTP proxy and status page", services::SERVICES),
    ("Configuration and tests", program::MODES),
    ("Logging", program::LOGGING),
    ("Help", program::INFORMATION),
];

/// The positional argument.
pub(super) const TUNNEL: &Flag = &listeners::TUNNEL;

/// Returns the flags in the order of the help; [`TUNNEL`] isn't one of them.
pub(super) fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|(_, flags)| flags.iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::words_of_text;

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

    #[test]
    fn each_name_is_in_the_table_once() {
        for flag in all() {
            let same = all().filter(|other| other.name == flag.name);
            assert_eq!(same.count(), 1, "{}", flag.name);
            let short = flag.short.map_or(0, |short| {
                all().filter(|other| other.short == Some(short)).count()
            });
            assert!(short <= 1, "-{}", flag.short.unwrap_or_default());
        }
    }

    #[test]
    fn each_option_has_all_its_texts() {
        for flag in all().chain(Some(TUNNEL)) {
            let (name, help) = (flag.name, flag.help);
            let is_line = help.starts_with(|c: char| c.is_alphanumeric()) && !help.contains('\n');
            assert!(is_line && !help.ends_with('.'), "{}: {}", name, help);
            for paragraph in flag.description.split("\n\n") {
                assert!(paragraph.ends_with('.'), "{}: '{}'", name, paragraph);
                assert!(!paragraph.contains('\n'), "{}: '{}'", name, paragraph);
                let quotes = paragraph.matches('`').count();
                assert_eq!(quotes % 2, 0, "{}: '{}'", name, paragraph);
            }
            let given = words(flag.example);
            assert!(given.contains(&"ptunnel"), "{}: '{}'", name, flag.example);
            if name != TUNNEL.name {
                let mut spellings = flag.spellings();
                let has_option = spellings.any(|spelling| given.contains(&&spelling[..]));
                assert!(has_option, "{}: '{}'", name, flag.example);
                assert_eq!(flag.sample().is_some(), flag.value.is_some(), "{}", name);
            }
        }
    }

    #[test]
    fn each_toml_line_sets_its_option() {
        for flag in all() {
            let line = match flag.toml() {
                Some(line) => line,
                None => {
                    assert!(!flag.is_in_file, "{}", flag.name);
                    continue;
                }
            };
            let words = words_of_text(&line).unwrap();
            let option = match flag.sample() {
                Some(value) => format!("--{}={}", flag.name, value),
                None => format!("--{}", flag.name),
            };
            assert_eq!(words, [(1, option)]);
        }
    }

    #[test]
    fn conflicts_are_mutual() {
        let excluded = |name: &str| -> Vec<&str> {
            let flag = find(name).unwrap();
            flag.excluded().map(|other| other.name).collect()
        };
        assert_eq!(excluded("ipv4"), ["ipv6"]);
        assert_eq!(excluded("ipv6"), ["ipv4"]);
        assert_eq!(excluded("pac"), ["proxy", "demo"]);
    }
}
