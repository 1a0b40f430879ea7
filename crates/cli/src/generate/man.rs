//! The manual page, in the macros of man(7).

use super::program::{
    ABOUT, CONFIG_EXAMPLE, CONFIG_FILE, EXAMPLES, EXIT_CODES, FILES, SIGNALS, SUMMARY,
    TUNNEL_FORMS, VARIABLES,
};
use super::wrap;
use crate::flags::{Flag, GROUPS, TUNNEL};

/// The date of the last change of the texts.
const DATE: &str = "2026-11-23";

/// The width of text in a section on a terminal of 80 columns.
const WIDTH: usize = 71;

/// The width of text that describes an option.
const OPTION_WIDTH: usize = 64;

/// Returns ptunnel(1).
pub(super) fn page() -> String {
    let mut page = Page::default();
    // Options must not be hyphenated.
    page.line(".nr HY 0");
    page.line(&format!(
        ".TH PTUNNEL 1 {} \"ptunnel {}\" \"User Commands\"",
        DATE,
        env!("CARGO_PKG_VERSION")
    ));
    page.line(".ad l");
    page.section("NAME");
    page.text(&format!("ptunnel - {}", SUMMARY));
    page.section("SYNOPSIS");
    page.line(".B ptunnel");
    page.line("[\\fIOPTIONS\\fR] [\\fITUNNEL\\fR]...");
    page.section("DESCRIPTION");
    page.paragraphs(ABOUT);
    page.section("TUNNELS");
    page.rows(TUNNEL_FORMS);
    page.line(".PP");
    page.paragraphs(TUNNEL.description);
    page.section("OPTIONS");
    for (title, flags) in GROUPS {
        page.line(&format!(".SS \"{}\"", escaped(title)));
        for flag in flags.iter() {
            page.option(flag);
        }
    }
    page.section("CONFIGURATION FILE");
    page.paragraphs(CONFIG_FILE);
    page.line(".PP");
    page.verbatim(CONFIG_EXAMPLE.lines());
    page.section("ENVIRONMENT");
    for (names, meaning) in VARIABLES {
        page.tag(&bold(&names.join(", ")));
        page.text(meaning);
    }
    page.section("EXIT STATUS");
    page.rows(EXIT_CODES);
    page.section("SIGNALS");
    page.rows(SIGNALS);
    page.section("FILES");
    page.rows(FILES);
    page.section("EXAMPLES");
    for example in EXAMPLES {
        page.command(example, WIDTH);
    }
    page.section("SEE ALSO");
    page.text("ssh(1), ssh_config(5), curl(1)");
    page.lines.trim_end().to_string()
}

/// The part of the page that is written.
#[derive(Default)]
struct Page {
    lines: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn section(&mut self, title: &str) {
        self.line(&format!(".SH {}", title));
    }

    /// Writes text, with code in bold.
    fn text(&mut self, text: &str) {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(index, part)| match index % 2 {
            0 => escaped(part),
            _ => bold(part),
        });
        let line = parts.collect::<String>();
        self.line(&unlike_macro(line));
    }

    fn paragraphs(&mut self, text: &str) {
        for (index, paragraph) in text.split("\n\n").enumerate() {
            if index > 0 {
                self.line(".PP");
            }
            self.text(paragraph);
        }
    }

    /// Starts an indented paragraph below the tag.
    fn tag(&mut self, tag: &str) {
        self.line(".TP");
        self.line(tag);
    }

    fn rows(&mut self, rows: &[(&str, &str)]) {
        for (name, meaning) in rows {
            self.tag(&bold(name));
            self.text(meaning);
        }
    }

    fn verbatim<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        self.line(".EX");
        for line in lines {
            self.line(&unlike_macro(escaped(line)));
        }
        self.line(".EE");
    }

    fn option(&mut self, flag: &Flag) {
        self.tag(&tag_of(flag));
        self.text(&format!("{}.", flag.help));
        for paragraph in flag.description.split("\n\n") {
            self.line(".IP");
            self.text(paragraph);
        }
        self.line(".IP");
        for fact in facts(flag) {
            self.text(&fact);
            self.line(".br");
        }
        self.text("Example:");
        self.command(flag.example, OPTION_WIDTH);
    }

    fn command(&mut self, command: &str, width: usize) {
        let lines = wrap::command_lines(command, width);
        self.verbatim(lines.iter().map(|line| &line[..]));
    }
}

/// Returns the flag's spellings in bold and its value in italics.
fn tag_of(flag: &Flag) -> String {
    let spellings: Vec<String> = flag.spellings().map(|spelling| bold(&spelling)).collect();
    let value = flag.value.map_or(String::new(), |value| {
        format!(" \\fI{}\\fR", escaped(value))
    });
    let again = if flag.is_repeated { " ..." } else { "" };
    format!("{}{}{}", spellings.join(", "), value, again)
}

/// Returns what the table says of an option beside its texts, a line each.
fn facts(flag: &Flag) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(
        flag.shown_default()
            .map(|text| format!("Default: {}", text)),
    );
    facts.extend(
        flag.toml()
            .map(|line| format!("Configuration file: `{}`", line)),
    );
    if !flag.variables.is_empty() {
        facts.push(format!("Environment: {}", flag.variables.join(", ")));
    }
    facts.extend(flag.requires.map(|name| format!("Requires: `--{}`", name)));
    let excluded: Vec<String> = flag
        .excluded()
        .map(|other| format!("`--{}`", other.name))
        .collect();
    if !excluded.is_empty() {
        facts.push(format!("Conflicts with: {}", excluded.join(", ")));
    }
    facts
}

fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escaped(text))
}

/// Escapes text for roff. It replaces some ASCII characters by others if they aren't escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '~' => escaped.push_str("\\(ti"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Prevents that a line of escaped text is taken for a macro.
fn unlike_macro(line: String) -> String {
    if line.starts_with('.') {
        format!("\\&{}", line)
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_taken_for_a_macro() {
        let line = |text: &str| {
            let mut page = Page::default();
            page.text(text);
            page.lines
        };
        assert_eq!(line(".TH"), "\\&.TH\n");
        assert_eq!(line("'br"), "\\(aqbr\n");
        assert_eq!(line("a\\fB-b"), "a\\efB\\-b\n");
        assert_eq!(line("a `-b`."), "a \\fB\\-b\\fR.\n");
    }
}
