//! What a run is about and what it left: figures, peers, targets, samples and verdicts. Data, with the questions that it
//! answers by itself; nothing here starts, measures or prints anything.

#[cfg(test)]
pub mod example;
mod figure;
mod file;
mod machine;
mod outcome;
mod peer;
mod results;
pub mod stats;
mod target;

pub use figure::{less, more, Figure, Part};
pub use machine::{Cores, Machine};
pub use outcome::{Line, Outcome, Verdict};
pub use peer::{Kind, Peer};
pub use results::{Foreign, LeftOut, Results, Sample};
pub use stats::{median, Spread};
pub use target::{shown, target, Beside, Bound, Target};
