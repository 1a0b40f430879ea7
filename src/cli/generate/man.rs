//! The manual page, in the macros of man(7).

use crate::cli::clap_parser::{ABOUT, AFTER};
use crate::cli::flags::{self, Flag};

/// The date of the last change of the flags.
const DATE: &str = "2026-11-21";

/// Sections that only the page has, in the form of [`AFTER`]; lines without indentation are text.
const MORE: &str = "\
CONFIGURATION FILE:
--config FILE reads options in TOML, under their long names, and tunnels in a list called tunnels. \
An option that may be repeated takes a list, or one value; one without a value takes true or \
false, verbose also a number. What is typed goes before what is written.

    proxy = [\"proxy.example:3128\", \"proxy2.example:3128\"]
    user = \"joe\"
    password-file = \"/etc/ptunnel/password\"
    tunnels = [\"8993:imap.example.org:993\"]
    idle-timeout = 3600
    multithreaded = true
    verbose = 1

FILES:
    /etc/ptunnel/ptunnel.toml   What the service is started with; nothing is read unless it is named
    /etc/ptunnel/environment    Variables of the service, as PTUNNEL_SERVE_PASSWORD=...
    /dev/log                    Where --log-to syslog sends lines

SIGNALS:
    SIGTERM, SIGINT             Take no more clients, give live tunnels --drain-timeout, and end; a
                                second one ends at once
    SIGHUP                      Read --config FILE again, and the files that it names; without
                                --config, end";

/// Returns ptunnel(1).
pub(super) fn page() -> String {
    let mut page = Page::default();
    page.macro_line(&format!(
        ".TH PTUNNEL 1 {} \"ptunnel {}\" \"User Commands\"",
        DATE,
        env!("CARGO_PKG_VERSION")
    ));
    page.section("NAME");
    page.text("ptunnel - carries local TCP connections through an HTTP proxy");
    page.section("SYNOPSIS");
    page.macro_line(".B ptunnel");
    page.macro_line("[\\fIOPTIONS\\fR] [\\fITUNNEL\\fR]...");
    page.section("DESCRIPTION");
    for (index, paragraph) in ABOUT.split("\n\n").enumerate() {
        if index > 0 {
            page.macro_line(".PP");
        }
        page.text(paragraph);
    }
    page.section("OPTIONS");
    for flag in flags::all() {
        page.macro_line(".TP");
        page.macro_line(&tag(flag));
        page.text(&flag.help());
    }
    for line in MORE.lines().chain(AFTER.lines()) {
        match line.strip_prefix("    ") {
            Some(line) => page.example(line),
            None if line.is_empty() => {}
            None => match line.strip_suffix(':') {
                Some(title) => page.section(title),
                None => page.text(line),
            },
        }
    }
    page.section("SEE ALSO");
    page.text("ssh(1), ssh_config(5), curl(1)");
    page.lines
}

/// Returns the flag's spellings in bold and its value in italics.
fn tag(flag: &Flag) -> String {
    let spellings: Vec<String> = flag
        .spellings()
        .map(|spelling| format!("\\fB{}\\fR", escaped(&spelling)))
        .collect();
    let value = flag.value.map_or(String::new(), |value| {
        format!(" \\fI{}\\fR", escaped(value))
    });
    let again = if flag.is_repeated { " ..." } else { "" };
    format!("{}{}{}", spellings.join(", "), value, again)
}

/// The part of the page that is written.
#[derive(Default)]
struct Page {
    lines: String,
    /// Whether lines aren't filled, as in examples and tables.
    is_verbatim: bool,
}

impl Page {
    fn macro_line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn section(&mut self, title: &str) {
        if self.is_verbatim {
            self.macro_line(".EE");
            self.is_verbatim = false;
        }
        self.macro_line(&format!(".SH {}", title));
    }

    fn text(&mut self, text: &str) {
        self.macro_line(&escaped(text));
    }

    fn example(&mut self, line: &str) {
        if !self.is_verbatim {
            self.macro_line(".EX");
            self.is_verbatim = true;
        }
        self.text(line);
    }
}

/// Escapes text for roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with('.') || text.starts_with('\'') {
        format!("\\&{}", text)
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{escaped, MORE};
    use crate::cli::config_file::words_of_text;

    #[test]
    fn the_example_of_a_file_is_valid() {
        let example = MORE.split("\n\n").nth(1).unwrap();
        assert_eq!(words_of_text(example).unwrap().len(), 8);
    }

    #[test]
    fn no_text_is_taken_for_a_macro() {
        assert_eq!(escaped(".TH"), "\\&.TH");
        assert_eq!(escaped("'br"), "\\&'br");
        assert_eq!(escaped("a\\fB-b"), "a\\efB\\-b");
    }
}
