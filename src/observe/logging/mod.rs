//! Log lines: their text, their fields as values, and where they go.
//!
//! Every part of the crate logs through `field`; the logger itself belongs to the program.

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
