//! Text forms of values.
//!
//! Holds escaping and JSON quoting of text from outside, durations as text, and a `Debug` that
//! hides the content of a type. It must not use any other folder, or depend on the meaning of a
//! text. Every folder except `demo` uses it.

pub(crate) mod debug;
pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod seconds;
