//! Spawning, from either side onto the other.
//!
//! | from | onto | with |
//! |---|---|---|
//! | 0.1 code that takes a `Handle` or a `Remote` | a tokio 1 thread, `!Send` included | [`Local`], [`Handle`], [`Remote`] |
//! | 0.1 code that takes an `Executor` of `Send` futures | a tokio 1 runtime | [`Spawner`] |
//! | async code | a tokio 1 thread, `!Send` included | [`Handle::spawn_std`], [`Remote::spawn_std`] |
//! | async code | a tokio-core `Core` on this thread, by its `Handle` | [`on_handle`] |
//! | async code | a tokio-core `Core` anywhere, by its `Remote` | [`on_remote`], [`on_remote_std`], [`on_remote_call`] |
//!
//! An `async` block that makes timers or sockets of tokio 1 on a Core needs a runtime on that Core's
//! thread. A [`CoreThread`](crate::core_thread::CoreThread) brings the one that it was made in; code
//! that turns a Core by hand must hold the guard of `tokio::runtime::Handle::enter` meanwhile.
//!
//! # Budget
//!
//! Tasks of a [`Local`] and of a [`Spawner`] have [tokio's budget](crate::task#budget). So has async
//! code on a Core that was spawned from here: each poll of it has tokio's 128 units, whichever
//! sockets, timers and channels it uses, and then the Core's other tasks have their turn. What a
//! Core runs of 0.1 has none, as ever.
//!
//! # When the other side is gone
//!
//! tokio-core's `spawn` drops the future and says nothing; so do [`Handle::spawn`] and
//! [`Remote::spawn`], being look-alikes. `try_spawn` beside them returns [`Gone`]. What is spawned
//! onto a Core from here is answered through a [`Call`], which resolves to [`Lost::Gone`].
//!
//! # When a task panics
//!
//! A panic unwinds out of [`Local::run_until`], as it did out of `Core::run`: tokio 1's own answer,
//! to put it into a `JoinHandle` that was dropped, would lose it. A [`Call`] carries it to the code
//! that awaits it, and the Core continues.

#[cfg(feature = "core")]
mod budgeted;
#[cfg(feature = "core")]
mod call;
#[cfg(feature = "core")]
mod clock;
mod local;
#[cfg(feature = "core")]
mod lost;
mod spawner;

#[cfg(feature = "core")]
pub(crate) use self::call::{budgeted, call, halves, leased, Lease};
#[cfg(feature = "core")]
pub use self::call::{on_handle, on_remote, on_remote_call, on_remote_std, Call};
pub use self::local::{Gone, Handle, Local, Remote};
#[cfg(feature = "core")]
pub use self::lost::{Lost, Panic};
pub use self::spawner::Spawner;
