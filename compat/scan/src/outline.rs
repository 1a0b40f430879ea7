//! What a source file consists of: lines of code, functions, implementations and types.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::shape::{start, Position};

/// What a source file consists of. A file that doesn't parse has its lines only.
#[derive(Default)]
pub struct Outline {
    /// The lines with code on them: neither blank nor comments alone.
    pub lines: BTreeSet<usize>,
    pub functions: Vec<Function>,
    /// By the position of the trait's name.
    pub impls: BTreeMap<Position, Impl>,
    /// The methods of each type, whatever trait they are of.
    pub methods: BTreeMap<String, BTreeMap<String, Method>>,
    /// The functions that return a `Poll`.
    pub pollers: BTreeSet<String>,
    /// The variants of each enum.
    pub enums: BTreeMap<String, usize>,
    /// The names within the types of each struct's fields.
    pub structs: BTreeMap<String, BTreeSet<String>>,
    /// The paths that the file names, imports and modules among them.
    pub paths: BTreeSet<Vec<String>>,
    /// The first and last lines of what `#[cfg(test)]` guards.
    guarded: Vec<(usize, usize)>,
}

/// A function or method.
pub struct Function {
    /// Its first and last line.
    pub lines: (usize, usize),
    /// Where its body begins; the signature is before.
    pub body: Position,
    pub is_public: bool,
    pub is_test: bool,
}

/// The implementation of a trait.
pub struct Impl {
    /// The type that it is for.
    pub of: String,
    /// Its first and last line.
    pub lines: (usize, usize),
    /// The names of its methods.
    pub methods: Vec<String>,
}

/// A method of a type.
pub struct Method {
    /// Its first and last line.
    pub lines: (usize, usize),
    /// The methods that it calls, inside of macros too, and whether on `self`.
    pub calls: Vec<(bool, String)>,
    /// The names within it.
    pub names: BTreeSet<String>,
}

impl Outline {
    /// Reads a file, with or without what `#[cfg(test)]` guards.
    pub fn of(text: &str, file: Option<&syn::File>, tests: bool) -> Self {
        let mut finder = Finder {
            outline: Self::default(),
        };
        if let Ok(tokens) = text.parse() {
            add_lines(&mut finder.outline.lines, text, tokens);
        }
        if let Some(file) = file {
            finder.visit_file(file);
        }
        let mut outline = finder.outline;
        if !tests {
            let mut lines = std::mem::take(&mut outline.lines);
            lines.retain(|line| !outline.is_guarded(*line));
            let mut functions = std::mem::take(&mut outline.functions);
            functions.retain(|f| !outline.is_guarded(f.lines.0));
            (outline.lines, outline.functions) = (lines, functions);
        }
        outline
    }

    fn is_guarded(&self, line: usize) -> bool {
        self.guarded
            .iter()
            .any(|&(from, to)| from <= line && line <= to)
    }

    /// Whether a line belongs to a test or to what only tests use.
    pub fn is_test(&self, line: usize) -> bool {
        self.is_guarded(line) || self.function(line).is_some_and(|f| f.is_test)
    }

    /// The first and last line of each function with one of these lines.
    pub fn functions_with(&self, lines: impl Iterator<Item = usize>) -> BTreeSet<(usize, usize)> {
        lines
            .filter_map(|line| Some(self.function(line)?.lines))
            .collect()
    }

    /// How many lines of code these functions have.
    pub fn lines_in(&self, functions: &BTreeSet<(usize, usize)>) -> usize {
        let within = |line: &&usize| {
            let mut functions = functions.iter();
            functions.any(|(from, to)| from <= line && *line <= to)
        };
        self.lines.iter().filter(within).count()
    }

    /// The innermost function around a line.
    pub fn function(&self, line: usize) -> Option<&Function> {
        self.functions
            .iter()
            .filter(|f| f.lines.0 <= line && line <= f.lines.1)
            .max_by_key(|f| f.lines.0)
    }
}

fn add_lines(lines: &mut BTreeSet<usize>, text: &str, tokens: TokenStream) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                // A comment of documentation is a group with the position of the comment.
                if !is_comment(text, group.span()) {
                    lines.insert(group.span_open().start().line);
                    lines.insert(group.span_close().end().line);
                    add_lines(lines, text, group.stream());
                }
            }
            other => {
                if !is_comment(text, other.span()) {
                    lines.extend(other.span().start().line..=other.span().end().line);
                }
            }
        }
    }
}

fn is_comment(text: &str, span: proc_macro2::Span) -> bool {
    let from = text.get(span.byte_range().start..).unwrap_or_default();
    from.starts_with("//") || from.starts_with("/*")
}

struct Finder {
    outline: Outline,
}

impl Finder {
    fn add_function(
        &mut self,
        span: proc_macro2::Span,
        body: Option<&syn::Block>,
        attributes: &[syn::Attribute],
        is_public: bool,
    ) {
        self.add_guard(span, attributes);
        self.outline.functions.push(Function {
            lines: lines(span),
            body: body.map_or((usize::MAX, 0), |body| start(body.span())),
            is_public,
            is_test: attributes.iter().any(|attribute| {
                let last = attribute.path().segments.last();
                last.is_some_and(|segment| segment.ident == "test")
            }),
        });
    }

    fn add_guard(&mut self, span: proc_macro2::Span, attributes: &[syn::Attribute]) {
        let guards = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .meta
                    .require_list()
                    .is_ok_and(|list| list.tokens.to_string() == "test")
        };
        if attributes.iter().any(guards) {
            self.outline.guarded.push(lines(span));
        }
    }
}

fn lines(span: proc_macro2::Span) -> (usize, usize) {
    (span.start().line, span.end().line)
}

/// Adds the methods that tokens call, and whether on `self`.
fn add_calls(calls: &mut Vec<(bool, String)>, tokens: TokenStream) {
    let (mut before, mut on_self) = (String::new(), false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let word = match &token {
            TokenTree::Group(group) => {
                add_calls(calls, group.stream());
                String::new()
            }
            other => other.to_string(),
        };
        let is_call = matches!(tokens.peek(), Some(TokenTree::Group(_)));
        if before == "." && is_call && matches!(token, TokenTree::Ident(_)) {
            calls.push((on_self, word.clone()));
        }
        on_self = word == "." && before == "self";
        before = word;
    }
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.0.insert(ident.to_string());
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.add_guard(item.span(), &item.attrs);
        if item.content.is_none() {
            self.outline.paths.insert(vec![item.ident.to_string()]);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let is_public = matches!(item.vis, syn::Visibility::Public(_));
        self.add_function(item.span(), Some(&item.block), &item.attrs, is_public);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let is_public = matches!(item.vis, syn::Visibility::Public(_));
        self.add_function(item.span(), Some(&item.block), &item.attrs, is_public);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add_function(item.span(), item.default.as_ref(), &item.attrs, false);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = type_name(&item.self_ty);
        let functions = item.items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(f) => Some(f),
            _ => None,
        });
        for function in functions.clone() {
            let mut names = Names::default();
            names.visit_block(&function.block);
            let mut calls = Vec::new();
            add_calls(&mut calls, tokens(&function.block));
            let method = Method {
                lines: lines(function.span()),
                calls,
                names: names.0,
            };
            let methods = self.outline.methods.entry(of.clone()).or_default();
            methods.insert(function.sig.ident.to_string(), method);
        }
        let of_trait = item.trait_.as_ref();
        if let Some(name) = of_trait.and_then(|(_, path, _)| path.segments.last()) {
            let of = Impl {
                of,
                lines: lines(item.span()),
                methods: functions.map(|f| f.sig.ident.to_string()).collect(),
            };
            self.outline.impls.insert(start(name.ident.span()), of);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if let syn::ReturnType::Type(_, output) = &signature.output {
            if type_name(output) == "Poll" {
                self.outline.pollers.insert(signature.ident.to_string());
            }
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.outline
            .enums
            .insert(item.ident.to_string(), item.variants.len());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let mut names = Names::default();
        for field in &item.fields {
            names.visit_type(&field.ty);
        }
        self.outline.structs.insert(item.ident.to_string(), names.0);
        visit::visit_item_struct(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|s| s.ident.to_string());
        self.outline.paths.insert(segments.collect());
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        add_imports(&mut self.outline.paths, &mut Vec::new(), &item.tree);
    }
}

fn tokens(block: &syn::Block) -> TokenStream {
    let mut tokens = TokenStream::new();
    quote::ToTokens::to_tokens(block, &mut tokens);
    tokens
}

/// The name of a type without its parameters.
fn type_name(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        syn::Type::Reference(reference) => Some(type_name(&reference.elem)),
        _ => None,
    }
    .unwrap_or_else(|| "a type without a name".to_owned())
}

fn add_imports(paths: &mut BTreeSet<Vec<String>>, prefix: &mut Vec<String>, tree: &syn::UseTree) {
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            add_imports(paths, prefix, &path.tree);
            prefix.pop();
        }
        syn::UseTree::Name(syn::UseName { ident })
        | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
            prefix.push(ident.to_string());
            paths.insert(prefix.clone());
            prefix.pop();
        }
        syn::UseTree::Glob(_) => {
            paths.insert(prefix.clone());
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                add_imports(paths, prefix, tree);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! A machine.
use a::{b, c::D};

/// Its state.
enum State {
    One, // the first

    Two,
}
struct Machine { state: Option<State> }
impl Future for Machine {
    fn poll(&mut self) -> Poll {
        /* nothing
           here */
        try_ready!(self.io.poll_flush());
        self.step()
    }
}
#[cfg(test)]
mod tests {
    #[test]
    fn t() {}
}
";

    fn outline(tests: bool) -> Outline {
        Outline::of(SOURCE, Some(&syn::parse_file(SOURCE).unwrap()), tests)
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let lines: Vec<_> = outline(false).lines.into_iter().collect();
        assert_eq!(lines, [2, 5, 6, 8, 9, 10, 11, 12, 15, 16, 17, 18]);
        assert_eq!(outline(true).lines.len(), 12 + 5);
        assert_eq!(outline(false).functions.len(), 1);
        assert!(outline(true).functions[1].is_test);
    }

    #[test]
    fn a_machine_has_its_methods_and_what_they_call() {
        let outline = outline(false);
        let machine = &outline.impls[&(11, 6)];
        assert_eq!(
            (machine.of.as_str(), &machine.methods[..]),
            ("Machine", &["poll".to_owned()][..])
        );
        let poll = &outline.methods["Machine"]["poll"];
        assert_eq!(
            poll.calls,
            [(false, "poll_flush".to_owned()), (true, "step".to_owned())]
        );
        assert_eq!(outline.enums["State"], 2);
        assert!(outline.structs["Machine"].contains("State"));
        assert!(outline.pollers.contains("poll"));
        assert!(outline
            .paths
            .contains(&vec!["a".into(), "c".into(), "D".into()]));
    }
}
