//! Copies a crate and marks its items as deprecated, so that the compiler reports each use.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use syn::spanned::Spanned;

use crate::files;
use crate::parse;
use crate::table::Table;

/// What each note begins with; the path in the table follows.
pub const NOTE: &str = "legacy-scan ";

/// Copies the crate at `from` to `to` with its items marked, and returns the paths of the table
/// that it marked.
pub fn copy_marked(table: &Table, name: &str, from: &Path, to: &Path) -> Result<Vec<String>> {
    files::copy_tree(from, to)?;
    // The registry's own notes are no part of the crate.
    for leftover in ["Cargo.lock", ".cargo-checksum.json", ".cargo-ok"] {
        let _ = fs::remove_file(to.join(leftover));
    }
    let mut marked = Vec::new();
    let src = to.join("src");
    for file in files::rust_files(&src)? {
        let source = files::read(&file)?;
        let (source, syntax) = match parse::file(&source) {
            Ok(parsed) => parsed,
            Err(error) => {
                let file = file.display();
                eprintln!("cargo legacy-scan: uses of the items of {file} are missed: {error}");
                continue;
            }
        };
        let mut path = vec![name.replace('-', "_")];
        path.extend(modules(file.strip_prefix(&src)?));
        let mut marker = Marker {
            table,
            path,
            source: &source,
            edits: Vec::new(),
            marked: &mut marked,
        };
        marker.items(&syntax.items);
        let edits = marker.edits;
        fs::write(&file, apply(&source, edits))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(marked)
}

/// The modules that a file is, by its path below its crate's root file.
pub fn modules(file: &Path) -> Vec<String> {
    let mut modules: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if modules.last().is_some_and(|last| last == "mod")
        || modules.len() == 1 && ["lib", "main"].contains(&modules[0].as_str())
    {
        modules.pop();
    }
    modules
}

fn apply(source: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
    let mut text = source.to_owned();
    for (range, with) in edits {
        text.replace_range(range, &with);
    }
    text
}

struct Marker<'a> {
    table: &'a Table,
    path: Vec<String>,
    source: &'a str,
    edits: Vec<(Range<usize>, String)>,
    marked: &'a mut Vec<String>,
}

impl Marker<'_> {
    fn items(&mut self, items: &[syn::Item]) {
        items.iter().for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &syn::Item) {
        match item {
            syn::Item::Fn(f) => self.mark(&f.sig.ident, &f.attrs, item.span()),
            syn::Item::Struct(s) => self.mark(&s.ident, &s.attrs, item.span()),
            syn::Item::Type(t) => self.mark(&t.ident, &t.attrs, item.span()),
            syn::Item::Enum(e) => {
                self.mark(&e.ident, &e.attrs, item.span());
                self.within(&e.ident, |marker| {
                    for variant in &e.variants {
                        marker.mark(&variant.ident, &variant.attrs, variant.span());
                    }
                });
            }
            syn::Item::Trait(t) => {
                self.mark(&t.ident, &t.attrs, item.span());
                self.within(&t.ident, |marker| {
                    for item in &t.items {
                        if let syn::TraitItem::Fn(f) = item {
                            marker.mark(&f.sig.ident, &f.attrs, item.span());
                        }
                    }
                });
            }
            syn::Item::Impl(i) if i.trait_.is_none() => {
                let syn::Type::Path(ty) = &*i.self_ty else {
                    return;
                };
                let Some(name) = ty.path.segments.last() else {
                    return;
                };
                self.within(&name.ident, |marker| {
                    for item in &i.items {
                        if let syn::ImplItem::Fn(f) = item {
                            marker.mark(&f.sig.ident, &f.attrs, item.span());
                        }
                    }
                });
            }
            syn::Item::Mod(m) => {
                if let Some((_, items)) = &m.content {
                    self.within(&m.ident, |marker| marker.items(items));
                }
            }
            syn::Item::Macro(m) => match &m.ident {
                Some(name) => {
                    // Macros live at the root of their crate, wherever they are written.
                    let root = vec![self.path[0].clone()];
                    let path = std::mem::replace(&mut self.path, root);
                    self.mark(name, &m.attrs, item.span());
                    self.path = path;
                }
                // `if_std! { … }` and its like pass items on.
                None => {
                    if let Ok(file) = syn::parse2::<syn::File>(m.mac.tokens.clone()) {
                        self.items(&file.items);
                    }
                }
            },
            _ => {}
        }
    }

    fn within(&mut self, name: &proc_macro2::Ident, f: impl FnOnce(&mut Self)) {
        self.path.push(name.to_string());
        f(self);
        self.path.pop();
    }

    fn mark(
        &mut self,
        name: &proc_macro2::Ident,
        attributes: &[syn::Attribute],
        span: proc_macro2::Span,
    ) {
        self.path.push(name.to_string());
        if let Some(path) = self.table.path_of(&self.path) {
            let note = format!("#[deprecated(note = \"{NOTE}{path}\")]");
            match attributes.iter().find(|a| a.path().is_ident("deprecated")) {
                Some(old) => self.edits.push((old.span().byte_range(), note)),
                None => {
                    let at = span.byte_range().start;
                    debug_assert!(at < self.source.len());
                    self.edits.push((at..at, format!("{note} ")));
                }
            }
            self.marked.push(path.to_owned());
        }
        self.path.pop();
    }
}
