//! tokio-threadpool 0.1 on tokio 1: each pool is a multi-thread runtime, whose tasks are those of
//! futures 0.1.

#![warn(missing_docs, missing_debug_implementations)]

#[doc(hidden)]
pub mod blocking;
mod builder;
pub mod park;
mod pool;
mod sender;
mod shutdown;
mod thread_pool;
mod worker;

pub use self::blocking::{blocking, BlockingError};
pub use self::builder::Builder;
pub use self::sender::Sender;
pub use self::shutdown::Shutdown;
pub use self::thread_pool::{SpawnHandle, ThreadPool};
pub use self::worker::{Worker, WorkerId};
