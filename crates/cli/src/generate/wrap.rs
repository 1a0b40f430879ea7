//! Breaks text into lines.

use crate::flags::words;

/// Stands for a space within a word, such as a note that isn't broken.
pub(super) const NO_BREAK: char = '\u{a0}';

/// Breaks text at spaces into lines of at most `width` characters, except for longer words.
pub(super) fn lines(text: &str, width: usize) -> Vec<String> {
    let words = text.split(' ').filter(|word| !word.is_empty());
    let lines = join(words, width, "", "").into_iter();
    lines.map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// Breaks a command between its words into lines of at most `width` characters, as a shell reads them.
pub(super) fn command_lines(command: &str, width: usize) -> Vec<String> {
    join(words(command).into_iter(), width, " \\", "    ")
}

/// Joins words into lines. All but the last line end with `end`; all but the first start with
/// `start`.
fn join<'a>(
    words: impl Iterator<Item = &'a str>,
    width: usize,
    end: &str,
    start: &str,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words {
        let length = line.chars().count() + 1 + word.chars().count() + end.len();
        if line.is_empty() {
            line.push_str(word);
        } else if length <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(line + end);
            line = format!("{}{}", start, word);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_at_most_the_width() {
        assert_eq!(lines("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(lines("abcdef g", 3), ["abcdef", "g"]);
        assert_eq!(lines("", 3), [""]);
        assert_eq!(lines("a b\u{a0}c", 4), ["a", "b c"]);
    }

    #[test]
    fn a_command_goes_on_after_a_backslash() {
        let command = "ptunnel -H 'X: y' 1:a:1";
        assert_eq!(command_lines(command, 80), [command]);
        let expected = ["ptunnel -H \\", "    'X: y' \\", "    1:a:1"];
        assert_eq!(command_lines(command, 13), expected);
    }
}
