//! The form of the place where an item is used: what the compiler's diagnostic does not say.

mod finder;

use std::collections::HashMap;

use proc_macro2::Span;
use syn::visit::Visit;

use crate::parse;

use finder::Finder;

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
        Finder::new(&mut shapes).visit_file(file);
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

    /// Whether the code there has the shape. [`Shape::Pair`] is not a matter of one place.
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
