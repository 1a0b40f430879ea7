//! Text from the network or the user, escaped for terminals and logs.

use std::fmt::{self, Write};
use std::str;

/// Displays bytes as UTF-8 with escapes for control characters and invalid bytes: `\n`, `\x1b`.
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

/// Returns whether the character reverses the text after it, or is invisible.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        // Tags, which are invisible ASCII.
        | '\u{e0000}'..='\u{e007f}')
}

/// Returns the first 120 characters of a text of any length, in one line.
pub fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the first 120 characters of a peer's or a file's text, escaped. The text before the last
/// `@` is replaced by `***`, as it may be a password.
pub fn shown(text: &str) -> String {
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
    fn control_characters_are_escaped() {
        let text = "a\x1b[2J\r\n\t\u{85}ü\u{202e}".as_bytes();
        assert_eq!(
            Escaped(text).to_string(),
            "a\\x1b[2J\\r\\n\\t\\x85ü\\u{202e}"
        );
    }

    #[test]
    fn invisible_and_reversing_characters_are_escaped() {
        for hidden in "\u{ad}\u{61c}\u{200b}\u{202e}\u{2060}\u{2069}\u{feff}\u{e0041}".chars() {
            let text = Escaped(format!("a{}b", hidden).as_bytes()).to_string();
            assert_eq!(text, format!("a{}b", hidden.escape_unicode()));
        }
    }

    #[test]
    fn invalid_utf_8_is_escaped() {
        assert_eq!(Escaped(b"a\xff\xfeb\xc3").to_string(), "a\\xff\\xfeb\\xc3");
    }
}
