//! What is compared: what `peers.toml` says, where they are, how they start and stop.

pub mod find;
pub mod running;
pub mod spec;

pub use find::Found;
pub use running::{Running, Under};
pub use spec::{Setup, Spec};
