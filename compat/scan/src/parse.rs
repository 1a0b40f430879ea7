//! Parses Rust of any edition.

use crate::shape;

/// Parses a file, and returns the text that the positions are of. It differs from the source only
/// where edition 2015 allowed what later ones don't: parameters of a trait's methods without a
/// name get one, and trait objects `dyn`.
pub fn file(source: &str) -> syn::Result<(String, syn::File)> {
    let mut text = source.to_owned();
    let mut uses_keywords = false;
    loop {
        let parsed = if uses_keywords {
            syn::parse_file(&without_keywords(&text))
        } else {
            syn::parse_file(&text)
        };
        let error = match parsed {
            Ok(file) => return Ok((text, file)),
            Err(error) => error,
        };
        let at = offset(&text, shape::start(error.span()));
        if let Some((at, missing)) = missing(&text, at, &error.to_string()) {
            text.insert_str(at, missing);
        } else if uses_keywords || without_keywords(&text) == text {
            return Err(error);
        } else {
            uses_keywords = true;
        }
    }
}

/// What edition 2015 left out before the place where the parser stopped, and where.
fn missing(text: &str, at: usize, error: &str) -> Option<(usize, &'static str)> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    if error.contains("expected `:`") {
        // The type was read as the name of the parameter.
        let parameter = text[..at].rfind(['(', ',']).map(|before| before + 1)?;
        let has_name = text[parameter..at].replace("::", "").contains(':');
        return (!has_name).then_some((parameter, "_: "));
    }
    if error.contains("expected `,`") {
        // The parser stops at the arguments of `Fn() + Send`.
        let object = line + text[line..at].rfind("Fn")?;
        return (!text[..object].ends_with("dyn ")).then_some((object, "dyn "));
    }
    None
}

/// The text with other names of the same length for what edition 2015 calls `async` and `dyn`.
fn without_keywords(text: &str) -> String {
    text.replace("async", "a5ync").replace("dyn(", "d5n(")
}

/// The column in the source of what is at a column in the line that [`file()`] made of it.
pub fn original_column(source: &str, text: &str, column: usize) -> usize {
    let (mut source, mut rest, mut inserted) = (source, text, 0);
    let at = |rest: &str| text[..text.len() - rest.len()].chars().count() + 1;
    while at(rest) < column {
        let new = ["dyn ", "_: "]
            .into_iter()
            .find(|new| rest.starts_with(new) && !source.starts_with(new));
        let mut chars = rest.chars();
        match new {
            Some(new) => {
                inserted += new.len();
                rest = &rest[new.len()..];
            }
            None if chars.next().is_some() => {
                rest = chars.as_str();
                let mut chars = source.chars();
                chars.next();
                source = chars.as_str();
            }
            None => break,
        }
    }
    column - inserted
}

/// The offset in bytes of a place.
pub fn offset(text: &str, (line, column): shape::Position) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let line = text[before..].chars().take(column - 1);
    before + line.map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    fn text(source: &str) -> String {
        super::file(source).unwrap().0
    }

    #[test]
    fn a_parameter_may_lack_its_name() {
        assert_eq!(
            text("trait A {\n    fn f(T) -> u8;\n    fn g(&self, &mut a::B);\n}"),
            "trait A {\n    fn f(_: T) -> u8;\n    fn g(&self,_:  &mut a::B);\n}"
        );
    }

    #[test]
    fn a_trait_object_may_lack_its_dyn() {
        assert_eq!(
            text("type A = Arc<Fn() + Send>;"),
            "type A = Arc<dyn Fn() + Send>;"
        );
    }

    #[test]
    fn async_and_dyn_may_be_names() {
        let source = "fn f() { let async = 1; g(|async| async.h()); }";
        assert_eq!(text(source), source);
        let source = "fn dyn() { P::dyn() }";
        assert_eq!(text(source), source);
    }

    #[test]
    fn a_column_is_that_of_the_source() {
        let source = "type A = Arc<Fn(&u8) -> Box<Future<Item = u8>> + Send>;";
        let text = text(source);
        let future = |line: &str| line.find("Future").unwrap() + 1;
        assert_eq!(future(&text), future(source) + "dyn ".len());
        assert_eq!(
            super::original_column(source, &text, future(&text)),
            future(source)
        );
        assert_eq!(super::original_column(source, &text, 3), 3);
    }

    #[test]
    fn what_is_no_rust_is_an_error() {
        for source in ["fn f(T) {", "fn f(a: u8 b: u8) {}", "fn async() {", "]"] {
            assert!(super::file(source).is_err(), "{source}");
        }
    }
}
