//! One module a rig.

pub mod progress;
pub mod relay;
