//! How values are printed: text from outside without control characters, times in decimals.
//!
//! A leaf that any folder may use.

pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod seconds;
