//! Text forms of values.
//!
//! Holds escaping and JSON quoting of text from outside, durations as text, and a `Debug` that
//! hides the content of a type. It must not use any other module, or depend on the meaning of a
//! text. All crates but `ptunnel-notify` use it.

mod debug;
pub mod escape;
pub mod json;
pub mod seconds;
