//! The texts of `-h` and `--help`: one line for each option, in two columns.

use super::program::{EXAMPLES, EXIT_CODES, SUMMARY, TUNNEL_FORMS, USAGE, VARIABLES};
use super::wrap;
use crate::flags::{self, Flag, GROUPS};

/// The width of a line.
const WIDTH: usize = 80;

/// The column in which the right side starts.
const COLUMN: usize = 30;

/// The options of `-h`, the most used first.
const MOST_USED: &[&str] = &[
    "proxy",
    "stdio",
    "dynamic",
    "user",
    "password-file",
    "no-proxy",
    "direct-fallback",
    "pac",
    "via",
    "listen",
    "allow-from",
    "status",
    "config",
    "check-config",
    "test",
    "verbose",
    "quiet",
    "demo",
    "help",
    "version",
];

/// Returns the text of `-h`: one screen.
pub(crate) fn short() -> String {
    let mut help = Help::new();
    help.section("TUNNEL");
    help.row(
        "[BIND:]PORT:HOST:HOSTPORT",
        "Listen on PORT, connect clients to HOST:HOSTPORT",
    );
    help.section("Options");
    for flag in MOST_USED.iter().filter_map(|name| flags::find(name)) {
        help.row(&spelling(flag), flag.help);
    }
    help.examples();
    help.text + "\n\nptunnel --help: all options"
}

/// Returns the text of `--help`: all options in their groups.
pub(crate) fn long() -> String {
    let mut help = Help::new();
    help.section("TUNNEL");
    for (form, meaning) in TUNNEL_FORMS {
        help.row(form, &meaning.replace('`', ""));
    }
    for (title, flags) in GROUPS {
        help.section(title);
        for flag in flags.iter() {
            help.row(&spelling(flag), &with_notes(flag));
        }
    }
    help.section("Environment");
    for (names, meaning) in VARIABLES {
        help.row(&names.join(", "), meaning);
    }
    help.section("Exit codes");
    for (code, meaning) in EXIT_CODES {
        help.row(code, meaning);
    }
    help.examples();
    help.text + "\n\nptunnel --generate man: the manual page, with details and examples"
}

/// Returns the left side of an option's row; the long names of all rows are aligned.
fn spelling(flag: &Flag) -> String {
    let short = match flag.short {
        Some(short) => format!("-{},", short),
        None => String::new(),
    };
    let value = flag
        .value
        .map_or(String::new(), |value| format!(" {}", value));
    format!("{:3} --{}{}", short, flag.name, value)
}

/// Returns the help, whether the option can be repeated, and its default.
fn with_notes(flag: &Flag) -> String {
    let mut text = flag.help.to_string();
    if flag.is_repeated {
        text.push_str(" [repeatable]");
    }
    if let Some(default) = flag.shown_default() {
        let note = format!("[default: {}]", default);
        text.push(' ');
        text.push_str(&note.replace(' ', &wrap::NO_BREAK.to_string()));
    }
    text
}

/// The part of the help that is written, without the end of its last line.
struct Help {
    text: String,
}

impl Help {
    fn new() -> Help {
        let version = env!("CARGO_PKG_VERSION");
        Help {
            text: format!("ptunnel {} - {}\n\nUsage: {}", version, SUMMARY, USAGE),
        }
    }

    fn section(&mut self, title: &str) {
        self.text.push_str(&format!("\n\n{}:", title));
    }

    /// Writes a row of two columns. A long left side has the first line alone.
    fn row(&mut self, left: &str, right: &str) {
        let left = format!("  {}", left);
        let mut lines = wrap::lines(right, WIDTH - COLUMN).into_iter();
        let first = if left.chars().count() + 2 <= COLUMN {
            lines.next().unwrap_or_default()
        } else {
            String::new()
        };
        let line = format!("{:width$}{}", left, first, width = COLUMN);
        self.text.push('\n');
        self.text.push_str(line.trim_end());
        for line in lines {
            let line = format!("{:width$}{}", "", line, width = COLUMN);
            self.text.push('\n');
            self.text.push_str(&line);
        }
    }

    fn examples(&mut self) {
        self.section("Examples");
        for example in EXAMPLES {
            self.text.push_str("\n  ");
            self.text.push_str(example);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_narrow(text: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{}", line);
            assert_eq!(line, line.trim_end());
        }
    }

    /// A terminal has 24 lines at least, and mostly 40.
    #[test]
    fn the_short_help_is_one_screen() {
        let text = short();
        assert_narrow(&text);
        assert!(text.lines().count() <= 40, "{}", text);
        for name in MOST_USED {
            let flag = flags::find(name).unwrap();
            let line = text.lines().find(|line| line.contains(&spelling(flag)));
            let line = line.unwrap_or_default();
            assert!(line.ends_with(flag.help), "--{}: '{}'", name, line);
        }
        assert!(text.ends_with("\nptunnel --help: all options"));
    }

    #[test]
    fn the_long_help_has_all_options_in_80_columns() {
        let text = long();
        assert_narrow(&text);
        for flag in flags::all() {
            assert!(text.contains(&spelling(flag)), "{}", flag.name);
        }
    }
}
