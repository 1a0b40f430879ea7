//! Text forms of values.
//!
//! Holds escaping and JSON quoting of text from outside, durations as text, and a `Debug` that hides
//! what a type holds. It must not use any other folder, or know what a text is about. Every folder
//! but `demo` uses it.

pub(crate) mod debug;
pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod seconds;
