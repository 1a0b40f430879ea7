//! Parses Rust of any edition.

use crate::shape;

/// Parses a file, and returns the text that the positions are of. It differs from the source only
/// where edition 2015 allowed what later ones don't: parameters of a trait's methods without a
/// name get one, and trait objects `dyn`.
pub fn file(source: &str) -> syn::Result<(String, syn::File)> {
    let mut text = source.to_owned();
    let mut names_async = false;
    loop {
        let parsed = if names_async {
            syn::parse_file(&without_async(&text))
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
        } else if names_async || !text.contains("async") {
            return Err(error);
        } else {
            names_async = true;
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

/// The text with another name of the same length for what edition 2015 calls `async`.
fn without_async(text: &str) -> String {
    text.replace("async", "a5ync")
}

fn offset(text: &str, (line, column): shape::Position) -> usize {
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
    fn async_may_be_a_name() {
        let source = "fn f() { let async = 1; g(|async| async.h()); }";
        assert_eq!(text(source), source);
    }

    #[test]
    fn what_is_no_rust_is_an_error() {
        for source in ["fn f(T) {", "fn f(a: u8 b: u8) {}", "fn async() {", "]"] {
            assert!(super::file(source).is_err(), "{source}");
        }
    }
}
