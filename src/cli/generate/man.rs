//! The manual page, in the macros of man(7).

use crate::cli::definition::Flag;
use crate::cli::flags::{ABOUT, AFTER};

/// Every page has one: when the flags last changed.
const DATE: &str = "2026-11-21";

/// ptunnel(1).
pub(super) fn page(options: &[Flag]) -> String {
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
    for (place, paragraph) in ABOUT.split("\n\n").enumerate() {
        if place > 0 {
            page.macro_line(".PP");
        }
        page.text(paragraph);
    }
    page.section("OPTIONS");
    for flag in options {
        page.macro_line(".TP");
        page.macro_line(&tag(flag));
        page.text(flag.help);
    }
    for line in AFTER.lines() {
        match line.strip_suffix(':') {
            Some(title) if !line.starts_with(' ') => page.section(title),
            _ => page.example(line.trim_start()),
        }
    }
    page.section("SEE ALSO");
    page.text("ssh(1), ssh_config(5), curl(1)");
    page.lines
}

/// The flag's spellings in bold, its value in italics.
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

/// A page as far as it is written.
#[derive(Default)]
struct Page {
    lines: String,
    /// Whether lines are kept as they are, as in examples and tables.
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
        if line.is_empty() {
            return;
        }
        if !self.is_verbatim {
            self.macro_line(".EX");
            self.is_verbatim = true;
        }
        self.text(line);
    }
}

/// Text that roff shows as it is.
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
    use super::escaped;

    #[test]
    fn no_text_is_taken_for_a_macro() {
        assert_eq!(escaped(".TH"), "\\&.TH");
        assert_eq!(escaped("'br"), "\\&'br");
        assert_eq!(escaped("a\\fB-b"), "a\\efB\\-b");
    }
}
