//! A command as text, split into words as a shell would, without a shell.

use std::str::FromStr;

use super::ParseError;

/// A program and its arguments; at least one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWords(pub Vec<String>);

/// What a shell would interpret outside of quotes, and `~` at the start of a word.
const SPECIAL: &str = "|&;<>()$`*?[";

/// What a backslash escapes in double quotes (POSIX.1-2017, Shell Command Language, 2.2.3).
const ESCAPED: &str = "\\\"$`";

impl FromStr for ShellWords {
    type Err = ParseError;

    /// Splits at spaces outside of quotes. Single quotes keep everything, double quotes all but
    /// `\"`, `\\`, `\$` and `` \` ``, and a backslash keeps the next character.
    ///
    /// # Errors
    ///
    /// No word, a quote without its end, and what needs a shell. The message doesn't show the text.
    fn from_str(text: &str) -> Result<ShellWords, ParseError> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c.is_ascii_whitespace() {
                words.extend(word.take());
                continue;
            }
            let is_home = c == '~' && word.is_none();
            let word = word.get_or_insert_with(String::new);
            match c {
                '\'' => loop {
                    match chars.next().ok_or_else(|| open("'"))? {
                        '\'' => break,
                        c => word.push(c),
                    }
                },
                '"' => loop {
                    match chars.next().ok_or_else(|| open("\""))? {
                        '"' => break,
                        '\\' if chars.peek().map_or(false, |c| ESCAPED.contains(*c)) => {
                            word.extend(chars.next())
                        }
                        c => word.push(c),
                    }
                },
                '\\' => word.push(chars.next().ok_or_else(|| open("\\"))?),
                c if is_home || SPECIAL.contains(c) => {
                    return Err(ParseError::new(format!(
                        "invalid command: '{}' needs a shell, and ptunnel runs the command without \
                         one; quote it, or write sh -c '…'",
                        c
                    )))
                }
                c => word.push(c),
            }
        }
        words.extend(word);
        match words.first() {
            Some(program) if !program.is_empty() && !text.contains('\0') => Ok(ShellWords(words)),
            _ => Err(ParseError::new(
                "invalid command: the program is missing; e.g. 'pass show proxy'",
            )),
        }
    }
}

fn open(quote: &str) -> ParseError {
    ParseError::new(format!(
        "invalid command: {} at the end has no counterpart; e.g. pass show 'corporate proxy'",
        quote
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.parse::<ShellWords>().unwrap().0
    }

    #[test]
    fn words_are_split_as_by_a_shell() {
        for (text, expected) in &[
            ("pass show proxy", &["pass", "show", "proxy"][..]),
            (" pass\t show\nproxy ", &["pass", "show", "proxy"]),
            (r#"a 'b  "c' "d 'e""#, &["a", "b  \"c", "d 'e"]),
            (
                r#"a "x\"y\\z\$\n" \' b\ c"#,
                &["a", "x\"y\\z$\\n", "'", "b c"],
            ),
            (r#"a '' "" b''c x=~"#, &["a", "", "", "bc", "x=~"]),
            ("sh -c 'a | b >$HOME'", &["sh", "-c", "a | b >$HOME"]),
        ] {
            assert_eq!(words(text), *expected, "{}", text);
        }
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        for (text, expected) in &[
            ("a | b", "'|' needs a shell"),
            ("~/bin/a", "'~' needs a shell"),
            ("a $HOME", "'$' needs a shell"),
            ("a 'b", "' at the end"),
            ("a \"b\\\"", "\" at the end"),
            ("a \\", "\\ at the end"),
            ("", "the program is missing"),
            ("  ", "the program is missing"),
            ("'' a", "the program is missing"),
            ("a\0b", "the program is missing"),
        ] {
            let complaint = text.parse::<ShellWords>().unwrap_err().to_string();
            assert!(complaint.contains(expected), "{}: {}", text, complaint);
            assert!(!complaint.contains("hunter2"), "{}", complaint);
        }
    }
}
