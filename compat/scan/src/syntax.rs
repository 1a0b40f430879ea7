//! Finds uses by their names, in packages that don't compile.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use proc_macro2::Span;
use syn::visit::{self, Visit};

use crate::check::Use;
use crate::table::Table;
use crate::{files, parse, shape};

/// The uses of these crates in the files of a package that mention one of them. A method is taken for that
/// of a future wherever its name fits.
pub fn uses(table: &Table, crates: &BTreeSet<String>, package: &Path) -> Result<Vec<Use>> {
    let mut uses = Vec::new();
    for file in files::rust_files_of(package)? {
        let source = files::read(&file)?;
        if !crates.iter().any(|name| source.contains(name.as_str())) {
            continue;
        }
        if let Ok((_, syntax)) = parse::file(&source) {
            Finder {
                table,
                crates,
                file: &file,
                uses: &mut uses,
            }
            .visit_file(&syntax);
        }
    }
    Ok(uses)
}

fn crate_of(path: &str) -> &str {
    path.split("::").next().unwrap_or(path)
}

struct Finder<'a> {
    table: &'a Table,
    crates: &'a BTreeSet<String>,
    file: &'a Path,
    uses: &'a mut Vec<Use>,
}

impl Finder<'_> {
    /// Adds the first item of the table whose last name is this one and whose parent fits.
    fn add(&mut self, name: &proc_macro2::Ident, fits: impl Fn(&str) -> bool) {
        let name_text = name.to_string();
        let path = self.table.paths().find(|path| {
            path.rsplit_once("::").is_some_and(|(parent, last)| {
                last == name_text
                    && self.crates.contains(crate_of(path))
                    && fits(parent.rsplit("::").next().unwrap_or(parent))
            })
        });
        if let Some(path) = path {
            self.add_use(path.to_owned(), name.span());
        }
    }

    fn add_use(&mut self, path: String, span: Span) {
        let (line, column) = shape::start(span);
        self.uses.push(Use {
            file: self.file.to_owned(),
            line,
            column,
            path,
            sure: false,
        });
    }
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.add(&call.method, is_type);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter().rev();
        if let Some(last) = segments.next() {
            match segments.next().map(|segment| segment.ident.to_string()) {
                Some(parent) => self.add(&last.ident, |wanted| wanted == parent),
                None => self.add(&last.ident, |wanted| !is_type(wanted)),
            }
        }
        visit::visit_path(self, path);
    }
}
