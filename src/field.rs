//! Named parts of a log line.
//!
//! A line is written once, as people read it, with its parts wrapped in [`Field`]. By itself that
//! changes nothing. A logger that wants the parts calls [`mark`] at its start; from then on each
//! part stands between control characters, which no text from outside can bring along (see
//! `escape`), and [`split`] takes the line apart.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Around each part, with its name in front.
const EDGE: char = '\u{1c}';
/// Between a part's name and its value.
const BETWEEN: char = '\u{1f}';

static IS_MARKED: AtomicBool = AtomicBool::new(false);

/// A part of a line by its name; displays as its value alone.
pub(crate) struct Field<T>(pub(crate) &'static str, pub(crate) T);

impl<T: fmt::Display> fmt::Display for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Field(name, value) = self;
        if IS_MARKED.load(Ordering::Relaxed) {
            write!(f, "{}{}{}{}{}", EDGE, name, BETWEEN, value, EDGE)
        } else {
            value.fmt(f)
        }
    }
}

/// Has every later line say where its parts are: for the logger of a program.
#[cfg(feature = "cli")]
pub(crate) fn mark() {
    IS_MARKED.store(true, Ordering::Relaxed);
}

/// A line as people read it, and its parts.
#[cfg(feature = "cli")]
pub(crate) fn split(line: &str) -> (String, Vec<(&str, &str)>) {
    let mut text = String::with_capacity(line.len());
    let mut fields = Vec::new();
    for piece in line.split(EDGE) {
        match piece.find(BETWEEN) {
            Some(end) => {
                let (name, value) = (&piece[..end], &piece[end + 1..]);
                fields.push((name, value));
                text.push_str(value);
            }
            None => text.push_str(piece),
        }
    }
    (text, fields)
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_and_put_together() {
        let line = "\u{1c}client\u{1f}a:1\u{1c} to \u{1c}destination\u{1f}b:2\u{1c}: end";
        let (text, fields) = split(line);
        assert_eq!(text, "a:1 to b:2: end");
        assert_eq!(fields, [("client", "a:1"), ("destination", "b:2")]);
        assert_eq!(split("plain"), ("plain".to_string(), Vec::new()));
    }

    #[test]
    fn a_field_shows_nothing_of_itself_unless_somebody_asked() {
        assert_eq!(Field("client", 7).to_string(), "7");
    }
}
