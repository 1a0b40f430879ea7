//! The new name in code.

use std::ops::Range;

use super::{NEW, OLD};
use crate::fix::tokens::{self, Token};
use crate::fix::Edit;

/// The edits of a file's code. An error is the place of a use that can't be renamed, and why.
pub fn edits(tokens: &[Token]) -> Result<Vec<Edit>, (Range<usize>, &'static str)> {
    let mut edits = Vec::new();
    let in_path_groups = tokens::in_path_groups(tokens);
    let mut in_use = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| &tokens[at].text);
        match token.text.as_str() {
            "use" => in_use = true,
            ";" => in_use = false,
            text if text.starts_with('"')
                || text.starts_with('r') && text.ends_with(['"', '#']) =>
            {
                let names = ["futures::", "extern crate futures", "try_nb!"];
                let names = names.iter().any(|name| text.contains(name));
                if token.place.in_macro && is_attribute(tokens, at) && names {
                    return Err((
                        token.range.clone(),
                        "its documentation or an attribute names it",
                    ));
                }
            }
            // Its examples are no tokens.
            "include_str" | "include" if token.place.in_macro && is_attribute(tokens, at) => {
                return Err((token.range.clone(), "its documentation is another file"));
            }
            // The macro of tokio-io and tokio-core. Where it isn't compiled here, no build would say so.
            "try_nb" if tokens.get(at + 1).is_some_and(|next| next.text == "!") => {
                return Err((token.range.clone(), "try_nb! names ::futures"));
            }
            OLD => {
                let refuse = |why| Err((token.range.clone(), why));
                let next = tokens.get(at + 1).map_or("", |token| &token.text);
                let is_declared = before(1) == "crate" && before(2) == "extern";
                let is_root =
                    before(1) != "::" || !(tokens::follows_name(tokens, at) || before(2) == ">");
                if !is_root {
                    match before(2) {
                        "crate" | "self" | "super" => {
                            return refuse("it is named through a module")
                        }
                        _ => continue,
                    }
                }
                if in_path_groups[at] {
                    return refuse("another crate has something of that name");
                }
                if ["mod", "as"].contains(&before(1)) {
                    return refuse("something else has that name");
                }
                if is_declared && ["pub", ")"].contains(&before(3)) {
                    return refuse("it is exported by its name");
                }
                if in_use && !is_declared && [",", "}", ";", "as"].contains(&next) {
                    return refuse("it is imported by its name");
                }
                if next == "::" || is_declared {
                    if token.place.in_macro {
                        return refuse("a macro names it");
                    }
                    if token.place.in_cfg {
                        return refuse("code behind a cfg names it");
                    }
                    edits.push((token.range.clone(), NEW.to_owned()));
                }
            }
            _ => {}
        }
    }
    Ok(edits)
}

/// Whether a literal is what an attribute is set to, as in `#[doc = "…"]`, which a comment is, too.
fn is_attribute(tokens: &[Token], at: usize) -> bool {
    let depth = tokens[at].place.depth;
    let opened = tokens[..at]
        .iter()
        .rposition(|token| token.place.depth < depth);
    opened.is_some_and(|open| {
        let before = |back: usize| open.checked_sub(back).map_or("", |at| &tokens[at].text);
        before(1) == "#"
            || before(2) == "#"
            || tokens[open].text != "[" && is_attribute(tokens, open)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::{apply, tokens};

    fn code_of(source: &str) -> String {
        let edits = edits(&tokens::tokens(source).unwrap());
        edits.map_or_else(
            |(_, why)| format!("kept: {why}"),
            |edits| apply(source, edits),
        )
    }

    #[test]
    fn paths_of_the_crate_are_renamed() {
        for (before, after) in [
            (
                "use futures::{self, Future};",
                "use futures01::{self, Future};",
            ),
            ("use {futures::a, b};", "use {futures01::a, b};"),
            (
                "#[macro_use]\nextern crate futures;",
                "#[macro_use]\nextern crate futures01;",
            ),
            ("extern crate futures as f;", "extern crate futures01 as f;"),
            (
                "type A = Vec<::futures::B>;",
                "type A = Vec<::futures01::B>;",
            ),
            (
                "fn f() { match ::futures::a() { _ => {} } }",
                "fn f() { match ::futures01::a() { _ => {} } }",
            ),
            (
                "fn f() { return ::futures::a() }",
                "fn f() { return ::futures01::a() }",
            ),
            (
                "fn f() { try!(futures::a()) }",
                "fn f() { try!(futures01::a()) }",
            ),
            (
                "#[cfg(test)] mod t { use futures::A; }",
                "#[cfg(test)] mod t { use futures01::A; }",
            ),
        ] {
            assert_eq!(code_of(before), after);
            assert_eq!(code_of(after), after);
        }
    }

    #[test]
    fn what_only_has_the_name_stays() {
        for source in [
            "fn f(futures: A) { futures.len(); g!(futures); S { futures } }",
            "use tokio::futures::A;",
            "// futures::A\nconst A: &str = \"futures::A\";",
            "fn futures() { b::futures::c() }",
            "use futures01::A; use futures_cpupool::B;",
        ] {
            assert_eq!(code_of(source), source);
        }
    }

    #[test]
    fn a_use_that_can_not_be_renamed_keeps_the_name() {
        for source in [
            "use futures; fn f() { futures::a() }",
            "use {futures, b};",
            "use futures as f;",
            "pub extern crate futures;",
            "mod futures { }",
            "use a as futures;",
            "use crate::futures::A;",
            "use a::{futures::B};",
            "use a::{b::C, {futures::B}};",
            "fn f() { m!(futures::a()) }",
            "#[cfg(windows)] fn f() { try_nb!(a()) }",
            "/// `try_nb!(a())`\nfn f() {}",
            "macro_rules! m { () => { futures::a() } }",
            "#[derive(futures::A)] struct B;",
            "#[cfg(unix)] use futures::A;",
            "/// ```\n/// use futures::A;\n/// ```\nfn f() {}",
            "//! extern crate futures;",
            "#![doc = include_str!(\"../README.md\")]",
            "#[serde(with = \"futures::a\")] struct A;",
        ] {
            assert!(
                code_of(source).starts_with("kept: "),
                "{source}: {}",
                code_of(source)
            );
        }
    }
}
