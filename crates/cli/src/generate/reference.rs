//! The option reference in Markdown: docs/reference.md.

use super::program::{
    ABOUT, CONFIG_EXAMPLE, CONFIG_FILE, EXIT_CODES, FILES, SIGNALS, TUNNEL_FORMS, USAGE, VARIABLES,
};
use super::wrap;
use crate::flags::{Flag, GROUPS, TUNNEL};

/// The width of an example.
const WIDTH: usize = 80;

const INTRODUCTION: &str = "\
The text of this page comes from the program: `ptunnel --generate reference` prints it. \
[guide.md](guide.md) describes situations and the options for them. `ptunnel -h` shows the most used \
options, `ptunnel --help` all of them, and `man ptunnel` the text of this page.";

/// Returns the page without the end of its last line.
pub(super) fn page() -> String {
    let mut page = Page::default();
    page.block("# Option reference");
    page.block(INTRODUCTION);
    page.contents();
    page.block("## Usage");
    page.code("sh", USAGE);
    page.block(ABOUT);
    page.block("## Tunnel");
    page.table("form", TUNNEL_FORMS);
    page.block(TUNNEL.description);
    page.code("sh", TUNNEL.example);
    for (title, flags) in GROUPS {
        page.block(&format!("## {}", title));
        for flag in flags.iter() {
            page.option(flag);
        }
    }
    page.block("## Configuration file");
    page.block(CONFIG_FILE);
    page.code("toml", CONFIG_EXAMPLE);
    page.block("## Environment");
    let variables = VARIABLES.iter().map(|(names, meaning)| {
        let names: Vec<String> = names.iter().map(|name| code(name)).collect();
        row(&names.join(", "), meaning)
    });
    page.lines(
        &table_head("variable"),
        &variables.collect::<Vec<_>>().join("\n"),
    );
    page.block("## Exit codes");
    page.table("code", EXIT_CODES);
    page.block("## Signals");
    page.table("signal", SIGNALS);
    page.block("## Files");
    page.table("file", FILES);
    page.text
}

/// The part of the page that is written, without the end of its last line.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// Writes a heading or paragraphs.
    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    /// Writes a block of two parts.
    fn lines(&mut self, first: &str, rest: &str) {
        self.block(&format!("{}\n{}", first, rest));
    }

    fn code(&mut self, language: &str, text: &str) {
        self.block(&format!("```{}\n{}\n```", language, text));
    }

    fn table(&mut self, head: &str, rows: &[(&str, &str)]) {
        let rows = rows.iter().map(|(name, meaning)| {
            let names: Vec<String> = name.split(", ").map(code).collect();
            row(&names.join(", "), meaning)
        });
        self.lines(&table_head(head), &rows.collect::<Vec<_>>().join("\n"));
    }

    /// Writes a line of links for each group.
    fn contents(&mut self) {
        let groups = GROUPS.iter().map(|(title, flags)| {
            let links = flags.iter().map(link).collect::<Vec<_>>();
            format!("- {}: {}", title, links.join(", "))
        });
        self.block(&groups.collect::<Vec<_>>().join("\n"));
    }

    fn option(&mut self, flag: &Flag) {
        self.block(&format!("### --{}", flag.name));
        let value = flag
            .value
            .map_or(String::new(), |value| format!(" {}", value));
        let spellings = flag.spellings();
        let spellings: Vec<String> = spellings.map(|it| code(&(it + &value))).collect();
        self.block(&format!("{}: {}.", spellings.join(", "), flag.help));
        self.block(flag.description);
        self.block(&facts(flag).join("\n"));
        let command = wrap::command_lines(flag.example, WIDTH);
        self.code("sh", &command.join("\n"));
    }
}

/// Returns what the table says of an option beside its texts, an item each.
fn facts(flag: &Flag) -> Vec<String> {
    let nothing = if flag.value.is_some() { "none" } else { "off" };
    let default = flag.shown_default().unwrap_or_else(|| nothing.to_string());
    let mut facts = vec![format!("- Default: {}", default)];
    facts.push(match flag.toml() {
        Some(line) => format!("- Configuration file: {}", code(&line)),
        None => "- Configuration file: not possible".to_string(),
    });
    if !flag.variables.is_empty() {
        let names: Vec<String> = flag.variables.iter().map(|name| code(name)).collect();
        facts.push(format!("- Environment: {}", names.join(", ")));
    }
    if flag.is_repeated {
        facts.push("- Can be repeated".to_string());
    }
    if let Some(name) = flag.requires {
        facts.push(format!("- Requires: [--{0}](#--{0})", name));
    }
    let excluded: Vec<String> = flag.excluded().map(link).collect();
    if !excluded.is_empty() {
        facts.push(format!("- Conflicts with: {}", excluded.join(", ")));
    }
    facts
}

fn link(flag: &Flag) -> String {
    format!("[--{0}](#--{0})", flag.name)
}

fn code(text: &str) -> String {
    format!("`{}`", text)
}

fn table_head(name: &str) -> String {
    format!("| {} | meaning |\n|---|---|", name)
}

fn row(left: &str, right: &str) -> String {
    format!("| {} | {} |", left, right)
}
