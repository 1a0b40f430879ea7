//! Samples, what they say, and the files that hold them.

pub mod articles;
pub mod date;
pub mod difference;
pub mod headline;
pub mod html;
pub mod markdown;
pub mod markers;
pub mod plot;
pub mod results;
pub mod stats;
pub mod targets;

pub use results::{Figure, Results};
