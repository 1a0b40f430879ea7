//! JSON texts (RFC 8259).

use std::fmt::{self, Display, Write};

/// Displays text as a JSON string, with its quotes (RFC 8259 §7).
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                // DEL to U+009F are allowed, but a terminal interprets them like those below space.
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// Builds an object from values that display as JSON.
#[derive(Default)]
pub struct Object(String);

impl Object {
    /// Adds a member.
    pub fn member(&mut self, name: &str, value: impl Display) {
        let before = if self.0.is_empty() { '{' } else { ',' };
        // Writing to a String does not fail.
        let _ = write!(self.0, "{}{}:{}", before, Quoted(name), value);
    }

    /// Returns the text.
    pub fn end(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// Returns an array of items that display as JSON.
pub fn array(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_its_string() {
        let quoted = Quoted("a\"b\\c\nd\u{1}\u{9b}ü").to_string();
        assert_eq!(quoted, r#""a\"b\\c\nd\u0001\u009bü""#);
    }

    #[test]
    fn values_are_json() {
        let mut object = Object::default();
        object.member("a", array(&[1, 2]));
        object.member("b", Quoted("\"\n\u{1}"));
        object.member("c", Object::default().end());
        assert_eq!(object.end(), r#"{"a":[1,2],"b":"\"\n\u0001","c":{}}"#);
    }
}
