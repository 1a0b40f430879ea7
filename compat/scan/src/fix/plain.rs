//! Edits within a file that mean the same: `dyn`, `try!` to `?`, `extern crate`.

use std::ops::Range;

use super::tokens::Token;
use super::Edit;

/// The edits of the compiler's suggestion to write `dyn`; `None` where it is not sure to mean that.
pub fn with_dyn(source: &str, tokens: &[Token], suggested: &[Edit]) -> Option<Vec<Edit>> {
    for (range, with) in suggested {
        let rest = source.get(range.end..)?;
        let next = tokens.iter().find(|token| token.range.end > range.start)?;
        // In edition 2015, `dyn ::a` is a path.
        if next.place.in_macro || with.ends_with("dyn ") && rest.starts_with(['<', ':']) {
            return None;
        }
    }
    Some(suggested.to_vec())
}

/// The edits of the `try!` at an offset: `try!(a)` to `a?`. `None` where the tokens are others.
pub fn without_try(source: &str, tokens: &[Token], at: usize) -> Option<Vec<Edit>> {
    let first = tokens.iter().position(|token| token.range.start == at)?;
    let [name, not, open, ..] = &tokens[first..] else {
        return None;
    };
    let is_call =
        ["try", "r#try"].contains(&name.text.as_str()) && not.text == "!" && open.text == "(";
    if !is_call || name.place.in_macro {
        return None;
    }
    let close = (first + 3..tokens.len())
        .find(|&at| tokens[at].text == ")" && tokens[at].place.depth == open.place.depth)?;
    let mut last = close - 1;
    if tokens[last].text == "," && tokens[last].place.depth == open.place.depth + 1 {
        last -= 1;
    }
    if last < first + 3 {
        return None;
    }
    let inner = tokens[first + 3].range.start..tokens[last].range.end;
    // A comment there would go.
    let is_blank = |range: Range<usize>| source[range].trim().trim_matches(',').trim().is_empty();
    let (head, tail) = (at..inner.start, inner.end..tokens[close].range.end);
    if !is_blank(open.range.end..head.end) || !is_blank(tail.start..tail.end - 1) {
        return None;
    }
    let bare = takes_question_mark(&source[inner]);
    let (before, after) = if bare { ("", "?") } else { ("(", ")?") };
    Some(vec![(head, before.to_owned()), (tail, after.to_owned())])
}

/// Whether a `?` behind the expression is for all of it.
fn takes_question_mark(expression: &str) -> bool {
    use syn::Expr::{
        Await, Call, Field, Index, Lit, Macro, MethodCall, Paren, Path, Struct, Try, Tuple,
    };
    match syn::parse_str(expression) {
        Ok(
            Await(_) | Field(_) | Index(_) | Lit(_) | MethodCall(_) | Paren(_) | Path(_) | Try(_)
            | Tuple(_),
        ) => true,
        Ok(Call(call)) => !matches!(*call.func, Struct(_)),
        Ok(Macro(call)) => matches!(call.mac.delimiter, syn::MacroDelimiter::Paren(_)),
        _ => false,
    }
}

/// The edits that take away `extern crate` of these crates at the root of a crate of edition 2018 or
/// later, where no attribute, no other name and no path depends on it.
pub fn without_extern_crate(source: &str, tokens: &[Token], crates: &[String]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (at, window) in tokens.windows(4).enumerate() {
        let [declares, what, name, end] = window else {
            continue;
        };
        let is_plain = declares.text == "extern" && what.text == "crate" && end.text == ";";
        let before = at.checked_sub(1).map_or(";", |at| &tokens[at].text);
        let is_inner = before == "]" && tokens[..at].iter().rev().any(|token| token.text == "!");
        if is_plain
            && declares.place.depth == 0
            && !declares.place.in_cfg
            && crates.contains(&name.text)
            && ([";", "}"].contains(&before) || is_inner && follows_inner(tokens, at))
        {
            edits.push((
                line_of(source, declares.range.start..end.range.end),
                String::new(),
            ));
        }
    }
    edits
}

/// Whether the attribute that ends before a token is an inner one.
fn follows_inner(tokens: &[Token], at: usize) -> bool {
    let depth = tokens[at - 1].place.depth;
    let open = (0..at - 1)
        .rev()
        .find(|&open| tokens[open].place.depth == depth && tokens[open].text == "[");
    open.is_some_and(|open| {
        open >= 2 && tokens[open - 1].text == "!" && tokens[open - 2].text == "#"
    })
}

/// The whole line, if nothing else is there.
fn line_of(source: &str, range: Range<usize>) -> Range<usize> {
    let start = source[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let end = source[range.end..]
        .find('\n')
        .map_or(source.len(), |end| range.end + end + 1);
    let is_alone =
        source[start..range.start].trim().is_empty() && source[range.end..end].trim().is_empty();
    if is_alone {
        start..end
    } else {
        range
    }
}

#[cfg(test)]
mod tests {
    use super::super::{apply, tokens};
    use super::*;

    /// Each `try!` taken away, as if the compiler had reported all of them.
    fn tried(source: &str) -> String {
        let tokens = tokens::tokens(source).unwrap();
        let calls = tokens.iter().filter(|token| token.text.ends_with("try"));
        let edits = calls.filter_map(|token| without_try(source, &tokens, token.range.start));
        apply(source, edits.flatten().collect())
    }

    #[test]
    fn try_becomes_a_question_mark() {
        for (before, after) in [
            ("let a = try!(b.c());", "let a = b.c()?;"),
            ("try!( f(x, y) , );", "f(x, y)?;"),
            ("r#try!(a::b::<C>(1)).d()", "a::b::<C>(1)?.d()"),
            ("try!(f(try!(g()), h))", "f(g()?, h)?"),
            ("try!(try!(a))", "a??"),
            ("try!(match a { b => c })", "(match a { b => c })?"),
            ("try!(a as B)", "(a as B)?"),
            ("try!(|| a)", "(|| a)?"),
            ("try!(S { a })", "(S { a })?"),
            ("try!(&a)", "(&a)?"),
            ("!try!(a)", "!a?"),
            (
                "try!(write!(f, \"{}\", try!(a)))",
                "write!(f, \"{}\", try!(a))?",
            ),
            ("try!(\n    // why\n    a\n)", "try!(\n    // why\n    a\n)"),
            (
                "try!(\n    a\n        .b(), // c\n)",
                "try!(\n    a\n        .b(), // c\n)",
            ),
            ("try!(\r\n    a\r\n)", "a?"),
            ("m!(try!(a))", "m!(try!(a))"),
            ("try! { a }", "try! { a }"),
            ("try!()", "try!()"),
        ] {
            assert_eq!(tried(before), after);
            assert_eq!(tried(after), after);
        }
    }

    #[test]
    fn extern_crate_goes_where_it_says_nothing() {
        let without = |source: &str| {
            let tokens = tokens::tokens(source).unwrap();
            let crates = ["futures".to_owned(), "tokio_core".to_owned()];
            apply(source, without_extern_crate(source, &tokens, &crates))
        };
        for (before, after) in [
            (
                "extern crate futures;\nextern crate log;\nextern crate tokio_core;\nfn f() {}\n",
                "extern crate log;\nfn f() {}\n",
            ),
            ("#![a]\nextern crate futures;\nmod m;", "#![a]\nmod m;"),
            ("mod m; extern crate futures; mod n;", "mod m;  mod n;"),
        ] {
            assert_eq!(without(before), after);
        }
        for source in [
            "#[macro_use]\nextern crate futures;",
            "#![a]\n#[macro_use]\nextern crate futures;",
            "#[cfg(unix)]\nextern crate futures;",
            "/// A comment.\nextern crate futures;",
            "pub extern crate futures;",
            "extern crate futures as f;",
            "mod m { extern crate futures; }",
            "m! { extern crate futures; }",
            "// extern crate futures;\nextern crate log;",
        ] {
            assert_eq!(without(source), source);
        }
    }

    #[test]
    fn dyn_is_added_outside_of_macros_and_before_plain_paths() {
        let add = |source: &str, at: usize| {
            let tokens = tokens::tokens(source).unwrap();
            with_dyn(source, &tokens, &[(at..at, "dyn ".to_owned())])
        };
        assert!(add("type A = Box<B>;", 13).is_some());
        assert!(add("type A = Box<::B>;", 13).is_none());
        assert!(add("m!(Box<B>);", 7).is_none());
    }
}
