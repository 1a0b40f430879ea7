//! Limits the nesting of a config file before `toml` parses it: `toml` recurses for each level, and a
//! file of brackets would overflow the stack, also during a reload.

/// The number of levels; more than the value of any option needs.
const MAX_LEVELS: usize = 32;

/// Returns an error for the first line with more than `MAX_LEVELS` levels.
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
        let what = match (open > MAX_LEVELS, dots > MAX_LEVELS) {
            (true, _) => "nested brackets",
            (_, true) => "dots in a name",
            _ => continue,
        };
        return Err((
            index + 1,
            format!("more than {} {}; remove them", MAX_LEVELS, what),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_line_of_the_brackets_or_dots() {
        for (text, line, why) in &[
            (format!("a = 1\nb = {}", "[".repeat(100_000)), 2, "brackets"),
            ("{\n".repeat(100_000), 33, "brackets"),
            (format!("\n\na{} = 1", ".a".repeat(100_000)), 3, "dots"),
        ] {
            let (found, complaint) = check(text).unwrap_err();
            assert_eq!(found, *line);
            assert!(complaint.contains(why), "{}", complaint);
        }
    }

    #[test]
    fn quotes_and_comments_do_not_nest() {
        let brackets = "[".repeat(100);
        check(&format!("a = \"\\\"{0}\" # {0}\nb = '{0}'\n", brackets)).unwrap();
        check(&"a = [[1], [2]]\n".repeat(100)).unwrap();
        check(&"a = \"10.0.0.1\", 2.5\n".repeat(100)).unwrap();
    }
}
