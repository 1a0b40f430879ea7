//! tokio-executor 0.1 on tokio 1: the traits of executors, and the default executor of a thread.
//!
//! A thread without a default executor that is in a tokio 1 runtime spawns there.

#![warn(
    missing_docs,
    missing_debug_implementations,
    clippy::undocumented_unsafe_blocks
)]

mod default;
mod enter;
mod error;
mod executor;
#[doc(hidden)]
pub mod on_tokio_1;
pub mod park;
mod typed;

pub use self::default::{set_default, spawn, with_default, DefaultExecutor, DefaultGuard};
pub use self::enter::{enter, exit, Enter, EnterError};
pub use self::error::SpawnError;
pub use self::executor::Executor;
pub use self::typed::TypedExecutor;
