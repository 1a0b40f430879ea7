//! Completions: each flag with its help, files for FILE values, and the values that have names.

use std::fmt::Write;

use crate::flags::{self, Flag};

/// What a shell can complete for a value.
enum Guess<'a> {
    NoValue,
    File,
    OneOf(&'a [&'static str]),
    Anything,
}

fn guess(flag: &Flag) -> Guess<'_> {
    match (flag.value, flag.choices) {
        (None, _) => Guess::NoValue,
        (Some("FILE"), _) => Guess::File,
        (Some(_), []) => Guess::Anything,
        (Some(_), choices) => Guess::OneOf(choices),
    }
}

/// Writing to a `String` cannot fail.
macro_rules! put {
    ($text:expr, $($arg:tt)*) => {
        let _ = write!($text, $($arg)*);
    };
}

/// Returns completions for bash, which don't need the package bash-completion.
pub(super) fn bash() -> String {
    let mut all = Vec::new();
    let mut arms = String::new();
    for flag in flags::all() {
        let spellings: Vec<String> = flag.spellings().collect();
        let pattern = spellings.join("|");
        all.extend(spellings);
        let words = match guess(flag) {
            Guess::NoValue => continue,
            Guess::File => {
                "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")".to_string()
            }
            Guess::OneOf(choices) => format!(
                "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")",
                choices.join(" ")
            ),
            Guess::Anything => ":".to_string(),
        };
        put!(arms, "        {}) {} ;;\n", pattern, words);
    }
    format!(
        "\
# bash completion for ptunnel, made by ptunnel --generate complete-bash
_ptunnel() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
    COMPREPLY=()
    # To bash, --splice=auto is three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    case $prev in
{arms}        *)
            if [[ $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '{all}' -- \"$cur\")
            fi ;;
    esac
}}
complete -F _ptunnel ptunnel",
        arms = arms,
        all = all.join(" ")
    )
}

/// Returns completions for zsh, as a file `_ptunnel` in a folder of `$fpath`, or to be sourced.
///
/// A tunnel has an empty list of words: with a message instead, zsh would show a flag without
/// inserting it.
pub(super) fn zsh() -> String {
    let mut specs = String::new();
    for flag in flags::all() {
        let value = match guess(flag) {
            Guess::NoValue => String::new(),
            Guess::File => ":FILE:_files".to_string(),
            Guess::OneOf(choices) => format!(":{}:({})", zsh_value(flag), choices.join(" ")),
            Guess::Anything => format!(":{}: ", zsh_value(flag)),
        };
        let spellings: Vec<String> = flag.spellings().collect();
        let others = if flag.is_repeated {
            "*".to_string()
        } else {
            format!("({})", spellings.join(" "))
        };
        for spelling in spellings {
            let glue = match (flag.value.is_some(), spelling.starts_with("--")) {
                (false, _) => "",
                (true, true) => "=",
                (true, false) => "+",
            };
            put!(
                specs,
                "    '{}{}{}[{}]{}' \\\n",
                others,
                spelling,
                glue,
                zsh_text(flag.help),
                value
            );
        }
    }
    format!(
        "\
#compdef ptunnel
# zsh completion for ptunnel, made by ptunnel --generate complete-zsh
_ptunnel() {{
  _arguments -s -S \\
{specs}    '*:TUNNEL:()'
}}
if [ \"$funcstack[1]\" = _ptunnel ]; then
  _ptunnel \"$@\"
else
  compdef _ptunnel ptunnel
fi",
        specs = specs
    )
}

fn zsh_value(flag: &Flag) -> String {
    zsh_text(flag.value.unwrap_or_default())
}

/// Escapes text for single quotes in a specification of `_arguments`.
fn zsh_text(text: &str) -> String {
    let mut quoted = String::new();
    for c in text.chars() {
        match c {
            '\'' => quoted.push_str("'\\''"),
            '[' | ']' | ':' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            _ => quoted.push(c),
        }
    }
    quoted
}

/// Returns completions for fish, as a file `ptunnel.fish` in one of its folders of completions.
pub(super) fn fish() -> String {
    let mut text = "\
# fish completion for ptunnel, made by ptunnel --generate complete-fish
complete -c ptunnel -f"
        .to_string();
    for flag in flags::all() {
        put!(text, "\ncomplete -c ptunnel");
        if let Some(short) = flag.short {
            put!(text, " -s {}", short);
        }
        put!(text, " -l {}", flag.name);
        match guess(flag) {
            Guess::NoValue => {}
            Guess::File => text.push_str(" -r -F"),
            Guess::OneOf(choices) => {
                put!(text, " -x -a '{}'", choices.join(" "));
            }
            Guess::Anything => text.push_str(" -x"),
        }
        let help = flag.help.replace('\\', "\\\\").replace('\'', "\\'");
        put!(text, " -d '{}'", help);
    }
    text
}
