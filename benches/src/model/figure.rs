//! A column of the report, and what one is made of.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub title: &'static str,
    /// Whether the smaller value is the better one.
    pub less_is_better: bool,
}

/// A figure of which less is better.
pub const fn less(name: &'static str, unit: &'static str, title: &'static str) -> Figure {
    let less_is_better = true;
    Figure {
        name,
        unit,
        title,
        less_is_better,
    }
}

/// A figure of which more is better.
pub const fn more(name: &'static str, unit: &'static str, title: &'static str) -> Figure {
    let less_is_better = false;
    Figure {
        name,
        unit,
        title,
        less_is_better,
    }
}

impl Figure {
    /// Whether it is counted, so that it doesn't vary as time and memory do.
    pub fn is_count(&self) -> bool {
        ["Ir", "each", "calls", "bytes", "rules"].contains(&self.unit)
    }
}

/// A part of a figure: a function of its instructions, a call of its system calls.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Part {
    pub name: String,
    pub value: f64,
}

impl Part {
    pub fn new(name: impl Into<String>, value: f64) -> Part {
        Part {
            name: name.into(),
            value,
        }
    }
}
