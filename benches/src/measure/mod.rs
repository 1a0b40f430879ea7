//! How any rig is measured: its peers take turns, each sample has a fresh process, and what a sample finds is kept with
//! what was found out about the machine meanwhile.

pub mod bench;
pub mod bulk;
pub mod certificate;
pub mod headline;
pub mod idle;
mod options;
pub mod per_unit;
mod progress;
mod repeats;
pub mod rig;
mod rounds;
mod run;
pub mod side;
mod turns;

pub use bench::{Bench, Taken};
pub use options::Options;
pub use rig::{Group, Plan, Rig};
pub use run::{run, today};
