//! A source file as a list of tokens, which are the same in every edition.

use std::ops::Range;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A token; a delimiter of a group is one, and so is `::`.
#[derive(Debug)]
pub struct Token {
    pub text: String,
    pub range: Range<usize>,
    pub place: Place,
}

/// What a token is within.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The arguments of a macro other than `try!`, or an attribute.
    pub in_macro: bool,
    /// Code that another platform or another feature may compile.
    pub in_cfg: bool,
    /// How many groups.
    pub depth: usize,
}

/// The tokens of a file; `None` where they or their offsets can't be determined.
pub fn tokens(source: &str) -> Option<Vec<Token>> {
    if source.starts_with('\u{feff}') {
        return None;
    }
    let mut tokens = Vec::new();
    add(&mut tokens, source.parse().ok()?, Place::default());
    Some(tokens)
}

/// For each token, whether it is in a group that goes on a path: `b` and `c` of `use a::{b, {c}}`.
pub fn in_path_groups(tokens: &[Token]) -> Vec<bool> {
    let mut groups = vec![false];
    let mut all = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let in_group = groups.last() == Some(&true);
        match token.text.as_str() {
            "{" => groups.push(in_group || follows_name(tokens, at)),
            "}" => drop(groups.pop()),
            _ => {}
        }
        all.push(in_group);
    }
    all
}

/// Whether a token goes on a path: `b` of `a::b`, and not of `use ::b`.
pub fn follows_name(tokens: &[Token], at: usize) -> bool {
    let keywords = [
        "use", "in", "return", "as", "mut", "dyn", "impl", "for", "where", "pub", "match", "if",
        "while", "else", "break", "move", "ref", "const", "unsafe", "async", "extern",
    ];
    let before = |back: usize| at.checked_sub(back).map_or("", |at| &tokens[at].text);
    let name = before(2);
    before(1) == "::"
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !keywords.contains(&name)
}

fn add(tokens: &mut Vec<Token>, stream: TokenStream, place: Place) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut cfg_until = 0;
    for (at, tree) in trees.iter().enumerate() {
        if let Some(end) = cfg_end(&trees, at) {
            cfg_until = cfg_until.max(end);
        }
        let place = Place {
            in_cfg: place.in_cfg || at < cfg_until,
            ..place
        };
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let within = Place {
                    in_macro: place.in_macro || is_macro(&trees[..at]),
                    depth: place.depth + 1,
                    ..place
                };
                push(tokens, open, group.span_open().byte_range(), place);
                add(tokens, group.stream(), within);
                push(tokens, close, group.span_close().byte_range(), place);
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => match (tokens.last_mut(), at) {
                (Some(last), 1..) if last.text == ":" && is_joint(&trees[at - 1]) => {
                    last.text.push(':');
                    last.range.end = tree.span().byte_range().end;
                }
                _ => push(tokens, ":", tree.span().byte_range(), place),
            },
            _ => push(tokens, &tree.to_string(), tree.span().byte_range(), place),
        }
    }
}

fn push(tokens: &mut Vec<Token>, text: &str, range: Range<usize>, place: Place) {
    tokens.push(Token {
        text: text.to_owned(),
        range,
        place,
    });
}

fn is_joint(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
}

fn is(tree: &TokenTree, text: &str) -> bool {
    !matches!(tree, TokenTree::Group(_)) && tree.to_string() == text
}

fn name(tree: &TokenTree) -> Option<String> {
    match tree {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

/// Whether what follows these is a macro's arguments, or an attribute.
fn is_macro(before: &[TokenTree]) -> bool {
    match before {
        [.., hash] if is(hash, "#") => true,
        [.., hash, not] if is(hash, "#") && is(not, "!") => true,
        [.., called, not] if is(not, "!") => name(called).is_some_and(|name| {
            // After these, `!` negates.
            let keywords = ["if", "while", "match", "return", "in", "break", "else"];
            !keywords.contains(&name.as_str()) && name != "try" && name != "r#try"
        }),
        [.., called, not, new] if is(not, "!") => name(called).is_some() && name(new).is_some(),
        _ => false,
    }
}

/// If a `cfg` other than `cfg(test)` begins there: the end of what it is for, or more.
fn cfg_end(trees: &[TokenTree], at: usize) -> Option<usize> {
    if !is(&trees[at], "#") {
        return None;
    }
    let inner = trees.get(at + 1).is_some_and(|tree| is(tree, "!"));
    let TokenTree::Group(attribute) = trees.get(at + 1 + usize::from(inner))? else {
        return None;
    };
    let first = attribute.stream().into_iter().next()?;
    if name(&first)? != "cfg" || attribute.stream().to_string().replace(' ', "") == "cfg(test)" {
        return None;
    }
    if inner {
        return Some(trees.len());
    }
    let mut item = at + 2;
    while trees.get(item).is_some_and(|tree| is(tree, "#")) {
        item += 2;
    }
    let item_keywords = [
        "pub", "fn", "mod", "impl", "trait", "struct", "enum", "use", "extern", "unsafe",
    ];
    let keyword = name(trees.get(item)?).unwrap_or_default();
    let ends: fn(&TokenTree) -> bool = match keyword.as_str() {
        "let" => |tree| is(tree, ";"),
        // Attributes that hold more than a group are rare, and what follows them may be too much.
        _ if item_keywords.contains(&keyword.as_str()) => |tree| is(tree, ";") || is_block(tree),
        _ => |_| false,
    };
    let end = trees[item..].iter().position(ends);
    Some(end.map_or(trees.len(), |end| item + end + 1))
}

fn is_block(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens `x` of a source: `m` in a macro, `c` in a cfg, `-` in neither.
    fn places(source: &str) -> String {
        let tokens = tokens(source).unwrap();
        let places = tokens.iter().filter(|token| token.text == "x");
        places
            .map(|token| match (token.place.in_macro, token.place.in_cfg) {
                (true, _) => 'm',
                (_, true) => 'c',
                _ => '-',
            })
            .collect()
    }

    #[test]
    fn macros_and_attributes_are_distinguished_from_negation() {
        let source = "fn f() { if !(x) { a!(x); m! { [x] } } try!(x); x != (x) }";
        assert_eq!(places(source), "-mm---");
        assert_eq!(places("macro_rules! m { () => { x } }\n#[x] #![x]"), "mmm");
    }

    #[test]
    fn a_cfg_is_for_an_item_or_for_the_rest() {
        assert_eq!(
            places("#[cfg(unix)] #[a] fn f<A, B>() { x } fn g() { x }"),
            "c-"
        );
        assert_eq!(places("#[cfg(unix)] use a::{x}; use x;"), "c-");
        assert_eq!(
            places("fn f() { #[cfg(unix)] let a = {1} + x; x } x"),
            "c--"
        );
        assert_eq!(places("fn f() { #[cfg(unix)] { x } x } x"), "cc-");
        assert_eq!(places("struct S { #[cfg(unix)] a: x, b: x } x"), "cc-");
        assert_eq!(places("mod m { #![cfg(unix)] x } x"), "c-");
        assert_eq!(
            places("#[cfg(test)] mod m { x } #[cfg(all(test, a))] mod n { x }"),
            "-c"
        );
    }

    #[test]
    fn a_name_goes_on_a_path_in_groups_too() {
        for (source, goes_on) in [
            ("use crate::{a, {x::B}}; use x::C;", [true, false]),
            ("use {x::A, b::x}; ", [false, true]),
            ("fn f() { ::x::a() } use a::{b}; x", [false, false]),
            ("self::x; return ::x", [true, false]),
        ] {
            let tokens = tokens(source).unwrap();
            let in_groups = in_path_groups(&tokens);
            let named = (0..tokens.len()).filter(|at| tokens[*at].text == "x");
            let found: Vec<_> = named
                .map(|at| in_groups[at] || follows_name(&tokens, at))
                .collect();
            assert_eq!(found, goes_on, "{source}");
        }
    }

    #[test]
    fn offsets_are_bytes() {
        let source = "// ä\r\nlet a = ::b :: c: d;";
        for token in tokens(source).unwrap() {
            assert_eq!(source[token.range.clone()], token.text);
        }
        assert!(tokens("\u{feff}fn f() {}").is_none() && tokens("fn f(").is_none());
    }
}
