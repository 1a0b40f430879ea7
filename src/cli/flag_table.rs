//! The flags once more, as data: for whatever has to walk through all of them.
//!
//! They are defined once, in `flags`, in clap's words. clap 2 has no public way to ask for them,
//! but its fields can be read, and no later version of it will come to change them.

use clap::{AppSettings, ArgSettings};

use super::flags;

/// A flag, an option, or the positional argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// What `ArgMatches` is asked for.
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    pub(super) long: Option<&'static str>,
    /// What stands for its value in the help; `None` when it takes none.
    pub(super) value: Option<&'static str>,
    /// Values to choose from: all that there are, or those that can be named.
    pub(super) choices: Vec<&'static str>,
    pub(super) help: &'static str,
    /// Whether it may be given again.
    pub(super) is_repeated: bool,
    /// Whether `choices` are all values that there are.
    pub(super) is_closed: bool,
    /// What must be given beside it.
    pub(super) requires: Vec<&'static str>,
    /// What can't be given beside it.
    pub(super) conflicts: Vec<&'static str>,
}

impl Flag {
    /// `-p` and `--proxy`, those that there are; none of the positional argument.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        let short = self.short.map(|short| format!("-{}", short));
        let long = self.long.map(|long| format!("--{}", long));
        short.into_iter().chain(long)
    }
}

/// Every flag and option in the order of the help.
pub(super) fn options() -> Vec<Flag> {
    let mut app = flags::app();
    // Otherwise clap only adds these two when it parses.
    app.p.set(AppSettings::Propagated);
    app.p.create_help_and_version();
    let flags = app.p.flags.iter().map(|flag| {
        let is_repeated = flag.b.is_set(ArgSettings::Multiple);
        (
            flag.s.unified_ord,
            Flag {
                name: flag.b.name,
                short: flag.s.short,
                long: flag.s.long,
                value: None,
                choices: Vec::new(),
                help: flag.b.help.unwrap_or_default(),
                is_repeated,
                is_closed: false,
                requires: Vec::new(),
                conflicts: flag.b.blacklist.clone().unwrap_or_default(),
            },
        )
    });
    let options = app.p.opts.iter().map(|option| {
        let names = option.v.val_names.as_ref();
        (
            option.s.unified_ord,
            Flag {
                name: option.b.name,
                short: option.s.short,
                long: option.s.long,
                value: names.and_then(|names| names.values().next().copied()),
                choices: match &option.v.possible_vals {
                    Some(all) => all.clone(),
                    None => flags::suggestions(option.b.name).to_vec(),
                },
                help: option.b.help.unwrap_or_default(),
                is_repeated: option.b.is_set(ArgSettings::Multiple) && option.v.num_vals == Some(1),
                is_closed: option.v.possible_vals.is_some(),
                requires: option
                    .b
                    .requires
                    .iter()
                    .flatten()
                    .map(|(_, name)| *name)
                    .collect(),
                conflicts: option.b.blacklist.clone().unwrap_or_default(),
            },
        )
    });
    let mut all: Vec<(usize, Flag)> = flags.chain(options).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, flag)| flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_flag_is_told_from_the_others() {
        let all = options();
        let named = |name: &str| all.iter().find(|flag| flag.long == Some(name)).unwrap();
        let proxy = named("proxy");
        assert_eq!((proxy.short, proxy.value), (Some('p'), Some("PROXY")));
        assert!(proxy.is_repeated && proxy.choices.is_empty());
        assert_eq!(named("splice").choices, ["auto", "never", "always"]);
        assert_eq!(named("log-to").choices, ["stderr", "syslog"]);
        assert_eq!(named("proxy-auth").choices, ["basic", "digest", "ntlm"]);
        let stdio = named("stdio");
        assert!(stdio.value.is_some() && !stdio.is_repeated);
        let verbose = named("verbose");
        assert!(verbose.value.is_none() && verbose.is_repeated);
        assert_eq!(named("password-file").conflicts, ["password"]);
        assert_eq!(named("help").short, Some('h'));
        assert_eq!(all.last().unwrap().long, Some("version"));
    }

    /// A short flag alone has no name in a file, and says little in a script.
    #[test]
    fn every_flag_has_a_long_name_and_a_help() {
        for flag in options() {
            assert!(flag.long.is_some() && !flag.help.is_empty(), "{:?}", flag);
        }
    }
}
