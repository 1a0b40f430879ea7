//! How values are printed.
//!
//! Holds escaping and JSON quoting of text from outside, and durations as text. It must not use any
//! other folder, or know what a text is about. Every folder may use it.

pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod seconds;
