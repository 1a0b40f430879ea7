//! The event loop, its handles and timers, and I/O of kinds that this crate doesn't know.
//!
//! | item | is |
//! |---|---|
//! | [`Core`] | the event loop; stays on the thread that made it |
//! | [`Handle`] | a reference to the loop for use on its thread: spawns tasks, makes sockets and timers |
//! | [`Remote`] | a reference to the loop for any thread: spawns tasks |
//! | [`Timeout`], [`Interval`] | timers |
//! | [`PollEvented`] | readiness of any file descriptor |

mod core;
mod evented;
mod handle;
mod interval;
mod poll_evented;
mod pool;
mod queue;
mod remote;
mod shared;
mod source;
mod tasks;
mod timeout;
mod timers;
mod wait;

pub use drop_in_io::Ready;

pub use self::core::{Core, CoreId};
pub use self::evented::Evented;
pub use self::handle::Handle;
pub use self::interval::Interval;
pub use self::poll_evented::PollEvented;
pub use self::remote::Remote;
pub use self::timeout::Timeout;

pub(crate) use self::source::{default_runtime, Source};
