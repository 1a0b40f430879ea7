//! Text from the network, or from the user, made fit for a terminal and a log.

use std::fmt::{self, Write};
use std::str;

/// Displays bytes with control characters and anything but UTF-8 escaped: `\n`, `\x1b`.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        while !left.is_empty() {
            let (text, bad) = match str::from_utf8(left) {
                Ok(text) => (text, 0),
                Err(e) => {
                    let (valid, rest) = left.split_at(e.valid_up_to());
                    let text = str::from_utf8(valid).unwrap_or_default();
                    (text, e.error_len().unwrap_or(rest.len()))
                }
            };
            for c in text.chars() {
                match c {
                    '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
                    c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                    c if is_hidden(c) => write!(f, "{}", c.escape_unicode())?,
                    c => f.write_char(c)?,
                }
            }
            left = &left[text.len()..];
            for byte in &left[..bad] {
                write!(f, "\\x{:02x}", byte)?;
            }
            left = &left[bad..];
        }
        Ok(())
    }
}

/// Turns the rest of the line around, or shows nothing where there is something.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        // Tags, which spell ASCII unseen.
        | '\u{e0000}'..='\u{e007f}')
}

/// The first words of a text that may be as long as a peer likes, in one line.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 120;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The first words of what a peer or a file says, fit to be shown. What stands before an `@` is none
/// of them: it may be a password.
pub(crate) fn shown(text: &str) -> String {
    let text = match text.rfind('@') {
        Some(at) => format!("***{}", &text[at..]),
        None => text.into(),
    };
    excerpt(&Escaped(text.as_bytes()).to_string())
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn shows_what_a_terminal_would_obey() {
        let text = "a\x1b[2J\r\n\t\u{85}ü\u{202e}".as_bytes();
        assert_eq!(
            Escaped(text).to_string(),
            "a\\x1b[2J\\r\\n\\t\\x85ü\\u{202e}"
        );
    }

    /// Three of them came through as they were.
    #[test]
    fn shows_what_turns_a_line_around_or_hides_in_it() {
        for hidden in "\u{ad}\u{61c}\u{200b}\u{202e}\u{2060}\u{2069}\u{feff}\u{e0041}".chars() {
            let text = Escaped(format!("a{}b", hidden).as_bytes()).to_string();
            assert_eq!(text, format!("a{}b", hidden.escape_unicode()));
        }
    }

    #[test]
    fn shows_bytes_that_are_no_text() {
        assert_eq!(Escaped(b"a\xff\xfeb\xc3").to_string(), "a\\xff\\xfeb\\xc3");
    }
}
