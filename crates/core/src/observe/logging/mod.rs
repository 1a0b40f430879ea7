//! Log lines: their text, their fields as values, and their destination.
//!
//! - `field`: logs a line with its fields; `context`: the connection that a line is about. The
//!   folders above use these two.
//! - `line_limit`: a bound on the lines about each client address.
//! - `logger`, with `denials`, `json`, `queue` and `syslog`: the program's logger, which [`init`] installs.
//!   Only `ptunnel-cli` uses it.
//!
//! Fields are passed as values: code here must not parse the text of a line.

pub(crate) mod context;
mod denials;
pub(crate) mod field;
mod json;
pub(crate) mod line_limit;
mod logger;
mod queue;
mod syslog;

pub use self::logger::{init, Logging};
