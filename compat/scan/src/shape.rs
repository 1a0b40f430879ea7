//! The form of the place where an item is used: what the compiler's diagnostic does not say.

use std::collections::HashMap;

use proc_macro2::Span;
use syn::spanned::Spanned;

use syn::visit::{self, Visit};

use crate::parse;

/// A form that the table can ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// The trait of an `impl … for …`.
    Impl,
    /// A trait object within `Box<…>`.
    Box,
    /// The same in the signature of a trait's method.
    TraitBox,
    /// A trait whose `Error` is a `Box` of an error that is not `Send`.
    BoxError,
    /// The first bound of an `impl …` that a function returns.
    Return,
    /// Within `Rc<…>` or `Arc<…>`.
    Rc,
    /// In a function with `#[test]`.
    Test,
    /// The method of a call whose receiver is `….current()` or `….park()`.
    Yield,
    /// Assigned, and not only where nothing was assigned before.
    Renewed,
    /// A call that is neither the receiver of a [`Yield`](Self::Yield) nor [`Renewed`](Self::Renewed).
    Kept,
    /// A call after which its function calls nothing else.
    Last,
    /// A macro around a `flush()`.
    Flush,
    /// Where a condition has found that a call would block.
    WouldBlock,
    /// In `main` or in a function with `#[test]`: outside of every task.
    Root,
    /// Used at least twice in one function.
    Pair,
}

impl Shape {
    /// The shape that rows.toml calls by this name.
    pub fn named(name: &str) -> Self {
        match name {
            "impl" => Self::Impl,
            "box" => Self::Box,
            "trait-box" => Self::TraitBox,
            "box-error" => Self::BoxError,
            "return" => Self::Return,
            "rc" => Self::Rc,
            "test" => Self::Test,
            "yield" => Self::Yield,
            "renewed" => Self::Renewed,
            "kept" => Self::Kept,
            "last" => Self::Last,
            "flush" => Self::Flush,
            "would-block" => Self::WouldBlock,
            "root" => Self::Root,
            "pair" => Self::Pair,
            _ => panic!("rows.toml: no shape is called {name}"),
        }
    }
}

impl Shape {
    /// The shape as a limit of what is looked for.
    pub fn description(self) -> &'static str {
        match self {
            Self::Impl => "where it is implemented",
            Self::Box => "in a Box",
            Self::TraitBox => "in a Box that a trait's method returns",
            Self::BoxError => "with an Error that is a Box without Send",
            Self::Return => "where a function returns an impl of it",
            Self::Rc => "in an Rc or Arc",
            Self::Test => "in a test",
            Self::Yield => "called on the current task",
            Self::Renewed => "assigned anew each time",
            Self::Kept => "kept for later",
            Self::Last => "as the last call of its function",
            Self::Flush => "around a flush",
            Self::WouldBlock => "where a call would have blocked",
            Self::Root => "in main or a test",
            Self::Pair => "twice in a function",
        }
    }
}

/// Line from 1, column from 1 in characters, as the compiler counts them.
pub type Position = (usize, usize);

/// The shapes of a source file, by position.
#[derive(Default)]
pub struct Shapes {
    at: HashMap<Position, Vec<Shape>>,
    imports: Vec<(Position, Position)>,
    functions: Vec<Function>,
}

struct Function {
    from: Position,
    to: Position,
    is_test: bool,
    is_main: bool,
}

impl Shapes {
    /// The shapes of a parsed file.
    pub fn of(file: &syn::File) -> Self {
        let mut shapes = Self::default();
        Finder {
            shapes: &mut shapes,
            box_depth: 0,
            rc_depth: 0,
            in_signature_of_trait: false,
            returned: false,
            conditions: Vec::new(),
            followed: false,
        }
        .visit_file(file);
        shapes
    }

    /// The shapes by their position in the source that the text was made of by [`parse::file`].
    pub fn in_source(mut self, source: &str, text: &str) -> Self {
        if text != source {
            let lines: Vec<_> = source.lines().zip(text.lines()).collect();
            self.at = std::mem::take(&mut self.at)
                .into_iter()
                .map(|((line, column), found)| {
                    let (source, text) = lines[line - 1];
                    ((line, parse::original_column(source, text, column)), found)
                })
                .collect();
        }
        self
    }

    /// Whether the position belongs to a `use`.
    pub fn is_import(&self, at: Position) -> bool {
        self.imports.iter().any(|&(from, to)| from <= at && at < to)
    }

    /// Whether what stands there has the shape. [`Shape::Pair`] is not a matter of one place.
    pub fn has(&self, at: Position, shape: Shape) -> bool {
        let found = self.at.get(&at).map_or(&[][..], Vec::as_slice);
        match shape {
            Shape::Test => self.function(at).is_some_and(|f| self.functions[f].is_test),
            Shape::Root => self
                .function(at)
                .is_some_and(|f| self.functions[f].is_test || self.functions[f].is_main),
            Shape::Kept => !found.contains(&Shape::Yield) && !found.contains(&Shape::Renewed),
            _ => found.contains(&shape),
        }
    }

    /// The innermost function around the position.
    pub fn function(&self, at: Position) -> Option<usize> {
        (0..self.functions.len())
            .filter(|&f| self.functions[f].from <= at && at < self.functions[f].to)
            .max_by_key(|&f| self.functions[f].from)
    }
}

pub fn start(span: Span) -> Position {
    (span.start().line, span.start().column + 1)
}

fn end(span: Span) -> Position {
    (span.end().line, span.end().column + 1)
}

struct Finder<'a> {
    shapes: &'a mut Shapes,
    box_depth: usize,
    rc_depth: usize,
    in_signature_of_trait: bool,
    returned: bool,
    /// The conditions around, of `if` and of arms.
    conditions: Vec<Words>,
    /// Whether the function calls something after what is visited.
    followed: bool,
}

impl Finder<'_> {
    fn add(&mut self, span: Span, shape: Shape) {
        self.shapes.at.entry(start(span)).or_default().push(shape);
    }

    fn add_function(
        &mut self,
        item: &impl Spanned,
        signature: &syn::Signature,
        attributes: &[syn::Attribute],
    ) {
        let is_test = attributes.iter().any(|a| {
            a.path()
                .segments
                .last()
                .is_some_and(|segment| segment.ident == "test")
        });
        self.shapes.functions.push(Function {
            from: start(item.span()),
            to: end(item.span()),
            is_test,
            is_main: signature.ident == "main",
        });
    }

    /// Visits code that is not run with what stands around it.
    fn alone(&mut self, visit: impl FnOnce(&mut Self)) {
        let followed = std::mem::take(&mut self.followed);
        visit(self);
        self.followed = followed;
    }

    /// Visits what is run if the condition holds.
    fn under(&mut self, condition: Words, visit: impl FnOnce(&mut Self)) {
        self.conditions.push(condition);
        visit(self);
        self.conditions.pop();
    }

    fn add_path(&mut self, path: &syn::Path) {
        let Some(last) = path.segments.last() else {
            return;
        };
        let span = last.ident.span();
        if self.rc_depth > 0 {
            self.add(span, Shape::Rc);
        }
        if self.box_depth > 0 {
            let shape = if self.in_signature_of_trait {
                Shape::TraitBox
            } else {
                Shape::Box
            };
            self.add(span, shape);
        }
        if error_is_boxed(last) {
            self.add(span, Shape::BoxError);
        }
    }
}

/// Whether the trait's argument `Error = …` is a `Box` of an error without `Send`.
fn error_is_boxed(segment: &syn::PathSegment) -> bool {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return false;
    };
    arguments.args.iter().any(|argument| match argument {
        syn::GenericArgument::AssocType(of) if of.ident == "Error" => {
            let mut words = Words::default();
            words.visit_type(&of.ty);
            words.has("Box") && words.has("Error") && !words.has("Send")
        }
        _ => false,
    })
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn of(expression: &syn::Expr) -> Self {
        let mut words = Self::default();
        words.visit_expr(expression);
        words
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|w| w == word)
    }
}

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.0.push(ident.to_string());
    }
}

/// Whether a statement calls something; to log is no call.
#[derive(Default)]
struct Calls(bool);

impl Calls {
    fn of(statement: &syn::Stmt) -> bool {
        let mut calls = Self::default();
        calls.visit_stmt(statement);
        calls.0
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_method_call(&mut self, _: &'ast syn::ExprMethodCall) {
        self.0 = true;
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let mut function = Words::default();
        function.visit_expr(&call.func);
        // `Ok(…)` and its like make a value.
        self.0 |= function
            .0
            .last()
            .is_some_and(|name| name.starts_with(char::is_lowercase));
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let log = ["trace", "debug", "info", "warn", "error", "println"];
        self.0 |= !log.iter().any(|name| mac.path.is_ident(name));
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.shapes
            .imports
            .push((start(item.span()), end(item.span())));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add_function(item, &item.sig, &item.attrs);
        self.alone(|finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add_function(item, &item.sig, &item.attrs);
        self.alone(|finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add_function(item, &item.sig, &item.attrs);
        self.in_signature_of_trait = true;
        self.visit_signature(&item.sig);
        self.in_signature_of_trait = false;
        if let Some(block) = &item.default {
            self.visit_block(block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(last) = item
            .trait_
            .as_ref()
            .and_then(|(_, path, _)| path.segments.last())
        {
            self.add(last.ident.span(), Shape::Impl);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_return_type(&mut self, output: &'ast syn::ReturnType) {
        self.returned = true;
        visit::visit_return_type(self, output);
        self.returned = false;
    }

    fn visit_type_impl_trait(&mut self, item: &'ast syn::TypeImplTrait) {
        if self.returned {
            let bounds = item.bounds.iter().filter_map(|bound| match bound {
                syn::TypeParamBound::Trait(bound) => bound.path.segments.last(),
                _ => None,
            });
            for segment in bounds {
                self.add(segment.ident.span(), Shape::Return);
            }
        }
        visit::visit_type_impl_trait(self, item);
    }

    fn visit_trait_bound(&mut self, bound: &'ast syn::TraitBound) {
        self.add_path(&bound.path);
        // What is in the trait's arguments is not what the outer `Box` holds.
        let (boxed, rc) = (
            std::mem::take(&mut self.box_depth),
            std::mem::take(&mut self.rc_depth),
        );
        visit::visit_trait_bound(self, bound);
        (self.box_depth, self.rc_depth) = (boxed, rc);
    }

    fn visit_type_path(&mut self, ty: &'ast syn::TypePath) {
        self.add_path(&ty.path);
        let last = ty
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        let outer = (self.box_depth, self.rc_depth);
        (self.box_depth, self.rc_depth) = match last.as_deref() {
            Some("Box") => (1, 0),
            Some("Rc" | "Arc") => (0, 1),
            // `Rc<RefCell<TcpStream>>` shares the stream as well.
            Some("RefCell" | "Mutex") => outer,
            _ => (0, 0),
        };
        visit::visit_type_path(self, ty);
        (self.box_depth, self.rc_depth) = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let last = path.segments.last().filter(|_| {
            let mut around = self.conditions.iter();
            around.any(|condition| condition.has("WouldBlock"))
        });
        if let Some(last) = last {
            self.add(last.ident.span(), Shape::WouldBlock);
        }
        visit::visit_path(self, path);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let after = self.followed;
        for (at, statement) in block.stmts.iter().enumerate() {
            let rest = &block.stmts[at + 1..];
            let leaves = rest
                .iter()
                .any(|statement| matches!(statement, syn::Stmt::Expr(syn::Expr::Return(_), _)));
            self.followed = rest.iter().any(Calls::of) || after && !leaves;
            self.visit_stmt(statement);
        }
        self.followed = after;
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.alone(|finder| visit::visit_expr_closure(finder, closure));
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.visit_expr(&branch.cond);
        let condition = Words::of(&branch.cond);
        self.under(condition, |finder| finder.visit_block(&branch.then_branch));
        if let Some((_, otherwise)) = &branch.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        self.visit_expr(&choice.expr);
        for arm in &choice.arms {
            let mut condition = Words::of(&choice.expr);
            condition.visit_pat(&arm.pat);
            if let Some((_, guard)) = &arm.guard {
                condition.visit_expr(guard);
            }
            self.under(condition, |finder| finder.visit_arm(arm));
        }
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        let target = Words::of(&assign.left).0.pop();
        let is_first = self.conditions.iter().any(|condition| {
            (condition.has("is_none") || condition.has("None"))
                && target.as_ref().is_some_and(|target| condition.has(target))
        });
        if !is_first {
            // `….task = Some(task::current())`, or without the `Some`.
            let value = match &*assign.right {
                syn::Expr::Call(some) if some.args.len() == 1 => &some.args[0],
                value => value,
            };
            if let syn::Expr::Call(call) = value {
                if let syn::Expr::Path(function) = &*call.func {
                    if let Some(last) = function.path.segments.last() {
                        self.add(last.ident.span(), Shape::Renewed);
                    }
                }
            }
        }
        visit::visit_expr_assign(self, assign);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let tokens = mac.tokens.to_string().replace(' ', "");
        if tokens.ends_with(".flush()") {
            self.add(mac.path.span(), Shape::Flush);
        }
        visit::visit_macro(self, mac);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if !self.followed {
            self.add(call.method.span(), Shape::Last);
        }
        if let syn::Expr::Call(receiver) = &*call.receiver {
            if let syn::Expr::Path(function) = &*receiver.func {
                let last =
                    function.path.segments.last().filter(|segment| {
                        ["current", "park"].iter().any(|name| segment.ident == name)
                    });
                if let Some(last) = last {
                    self.add(last.ident.span(), Shape::Yield);
                    self.add(call.method.span(), Shape::Yield);
                }
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}
