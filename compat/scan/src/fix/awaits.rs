//! An async caller that awaits a 0.1 future does so through the adapter.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Edit;
use crate::shape::{self, Position};

/// The edits that wrap what is awaited at these places, where the compiler found no future. The
/// adapter is named by the path of its crate.
pub fn wrapped(source: &str, adapter: &str, awaits: &[Position]) -> Vec<Edit> {
    let mut finder = Finder {
        adapter,
        awaits,
        edits: Vec::new(),
    };
    if let Ok(file) = syn::parse_file(source) {
        finder.visit_file(&file);
    }
    finder.edits
}

struct Finder<'a> {
    adapter: &'a str,
    awaits: &'a [Position],
    edits: Vec<Edit>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_await(&mut self, item: &'ast syn::ExprAwait) {
        // Compilers point to the keyword or to the dot before it.
        let places = [item.await_token.span(), item.dot_token.span()].map(shape::start);
        if places.iter().any(|place| self.awaits.contains(place)) {
            let base = item.base.span().byte_range();
            let call = format!("{}::task::AsStd::new(", self.adapter);
            self.edits.push((base.start..base.start, call));
            self.edits.push((base.end..base.end, ")".to_owned()));
        }
        visit::visit_expr_await(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::apply;

    #[test]
    fn only_what_the_compiler_named_is_wrapped() {
        let source = "async fn f() {\n    a(b.await).await;\n    m!(c.await);\n    d.await\n}";
        let edits = wrapped(source, "bridge", &[(2, 16), (3, 10)]);
        assert_eq!(
            apply(source, edits),
            "async fn f() {\n    bridge::task::AsStd::new(a(b.await)).await;\n    m!(c.await);\n    d.await\n}"
        );
        let edits = wrapped(
            "async fn f() { a.await.b().await }",
            "c",
            &[(1, 18), (1, 28)],
        );
        assert_eq!(
            apply("async fn f() { a.await.b().await }", edits),
            "async fn f() { c::task::AsStd::new(c::task::AsStd::new(a).await.b()).await }"
        );
    }
}
