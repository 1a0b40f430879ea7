//! How deeply a text nests, looked at before `toml` sees it: that calls itself for each level, and a
//! text of brackets alone would be the end of the program, and of every tunnel when it is reloaded.

/// More than the value of any option needs.
const MOST: usize = 32;

/// The first line with more levels than that, and what they are.
pub(super) fn check(text: &str) -> Result<(), (usize, String)> {
    let mut open = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let mut dots = 0;
        let mut quote = None;
        let mut bytes = line.bytes();
        while let Some(byte) = bytes.next() {
            match (quote, byte) {
                (Some(b'"'), b'\\') => drop(bytes.next()),
                (Some(end), _) if byte == end => quote = None,
                (Some(_), _) => {}
                (None, b'"') | (None, b'\'') => quote = Some(byte),
                (None, b'#') => break,
                (None, b'[') | (None, b'{') => open += 1,
                (None, b']') | (None, b'}') => open = open.saturating_sub(1),
                (None, b'.') => dots += 1,
                (None, _) => {}
            }
        }
        let what = match (open > MOST, dots > MOST) {
            (true, _) => "brackets within each other",
            (_, true) => "dots in a name",
            _ => continue,
        };
        return Err((index + 1, format!("more than {} {}", MOST, what)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_brackets_or_dots_is_told_with_its_line() {
        for (text, line, why) in &[
            (format!("a = 1\nb = {}", "[".repeat(100_000)), 2, "brackets"),
            ("{\n".repeat(100_000), 33, "brackets"),
            (format!("\n\na{} = 1", ".a".repeat(100_000)), 3, "dots"),
        ] {
            let (told, complaint) = check(text).unwrap_err();
            assert_eq!(told, *line);
            assert!(complaint.contains(why), "{}", complaint);
        }
    }

    #[test]
    fn what_is_quoted_or_said_nests_nothing() {
        let brackets = "[".repeat(100);
        check(&format!("a = \"\\\"{0}\" # {0}\nb = '{0}'\n", brackets)).unwrap();
        check(&"a = [[1], [2]]\n".repeat(100)).unwrap();
        check(&"a = \"10.0.0.1\", 2.5\n".repeat(100)).unwrap();
    }
}
