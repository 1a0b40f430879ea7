//! Texts generated from the flag table: the help, the manual page, the option reference, and
//! completions for shells.
//!
//! clap 2 can write help and completions, but its help has no groups, its fish file stops at the first
//! tunnel, its zsh file has no values, and its bash file requires that the program is called without
//! a path.
//!
//! Must not hold the definition of an option, which is in `flags`, or print. `command_line` uses it.

mod completions;
pub(super) mod help;
mod man;
mod program;
mod reference;
mod wrap;

/// Returns the text of one of [`GENERATED`](super::flags::GENERATED), without the end of its last line;
/// `None` for another name.
pub(super) fn generate(kind: &str) -> Option<String> {
    match kind {
        "man" => Some(man::page()),
        "reference" => Some(reference::page()),
        "complete-bash" => Some(completions::bash()),
        "complete-zsh" => Some(completions::zsh()),
        "complete-fish" => Some(completions::fish()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{self, GENERATED};

    #[test]
    fn each_kind_names_every_flag() {
        for kind in GENERATED {
            // Hyphens are escaped in a manual page; fish has its own way to write long names.
            let text = generate(kind).unwrap().replace("\\-", "-");
            for flag in flags::all() {
                let long = flag.name;
                let is_there =
                    text.contains(&format!("--{}", long)) || text.contains(&format!("-l {}", long));
                assert!(is_there, "{} is not in {}", long, kind);
            }
        }
        assert_eq!(generate("complete-tcsh"), None);
    }
}
