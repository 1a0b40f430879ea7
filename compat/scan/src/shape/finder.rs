//! Finds the shapes in a parsed file.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{end, start, Function, Shape, Shapes};

/// Visits a file and notes the shapes.
pub(super) struct Finder<'a> {
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

impl<'a> Finder<'a> {
    pub fn new(shapes: &'a mut Shapes) -> Self {
        Self {
            shapes,
            box_depth: 0,
            rc_depth: 0,
            in_signature_of_trait: false,
            returned: false,
            conditions: Vec::new(),
            followed: false,
        }
    }

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

    /// Visits code that is not run with the code around it.
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
