//! Log lines: their text, their fields as values, and where they go.
//!
//! - `field`: logs a line with its fields; `context`: the connection that a line is about. The
//!   folders above use these two.
//! - `logger`, with `json`, `queue` and `syslog`: the program's logger, installed by
//!   [`init`]; `cli` alone uses it, and builds without the feature `cli` leave it out.
//!
//! A line's fields are passed as values: must not parse the text of a line.

pub(crate) mod context;
pub(crate) mod field;
#[cfg(feature = "cli")]
mod json;
#[cfg(feature = "cli")]
mod logger;
#[cfg(feature = "cli")]
mod queue;
#[cfg(feature = "cli")]
mod syslog;

#[cfg(feature = "cli")]
pub use self::logger::{init, Logging};
