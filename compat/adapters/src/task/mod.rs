//! Futures, streams and sinks of one generation, polled by the other.
//!
//! | you have | and want to | wrap it in |
//! |---|---|---|
//! | a 0.1 `Future` or `Stream` | `.await` it, or poll it with a [`Waker`](std::task::Waker) | [`AsStd`] |
//! | a 0.1 `Sink` | use it where `futures_sink::Sink` is asked for | [`AsStdSink`] |
//! | a std `Future` or `Stream` of `Result`s | hand it to 0.1 combinators, or a tokio-core `Core` | [`As01`] |
//! | a std `Sink` | use it as a 0.1 one | [`As01Sink`] |
//! | any of these, on a thread that is in no tokio 1 runtime | use tokio's timers and sockets in it | [`InRuntime`] |
//!
//! # Cost
//!
//! [`AsStd`] and [`AsStdSink`] allocate three times when they are made and never again; a changed `Waker`
//! costs two clones of it and one uncontended lock, a wake-up one clone and one lock. [`As01`] and
//! [`As01Sink`] allocate nothing when the 0.1 task that polls them is itself driven by an
//! [`AsStd`]: they pick up its `Waker`, and the second crossing costs nothing but the look. Inside
//! any other 0.1 task (a Core's, or a node of 0.1's `FuturesUnordered`) they allocate one `Waker`
//! and keep it until the task changes. `tests/cost.rs` counts all of this.
//!
//! # Wake-ups
//!
//! What was registered in any poll wakes the `Waker` of the *latest* poll, also when it was not
//! registered again: futures 0.1 promised no less. It wakes no task once the future or the stream has
//! ended (an error does not end a stream), or the wrapper was dropped. A wake-up is passed on one
//! for one; none is added but that of a yield, below.
//!
//! # Budget
//!
//! Each ready poll of [`AsStd`] and [`AsStdSink`], and below them of [`As01`] streams and
//! [`As01Sink`], spends a unit of tokio's cooperative budget. When that is used up they are pending,
//! and wake their task once it has let others run. One layer spends one unit: an item that passes
//! two of them spends two.
//!
//! An executor of 0.1 has no such budget. There [`As01`] streams and [`As01Sink`] yield after 128
//! ready polls in a row, and the adapters in the async code of an [`As01`] after 128 ready polls in
//! one poll of it. tokio's own sockets and channels have none there, unless the code runs through
//! `spawn::on_handle` and its like.
//!
//! A 0.1 future that loops by itself over 0.1 streams (`for_each`, `fold`) cannot be interrupted.
//!
//! Outside of both executors, in a `poll` by hand, nothing is counted below [`AsStd`].

mod budget;
mod crossing;
mod driver;
mod future;
mod in_runtime;
#[allow(unsafe_code)] // here and nowhere else
mod notify;
#[cfg(feature = "io")]
mod shared;
mod sink;

pub use self::future::{As01, AsStd};
pub use self::in_runtime::InRuntime;
pub use self::sink::{As01Sink, AsStdSink};

pub(crate) use self::crossing::Crossing;
pub(crate) use self::driver::Driver;
#[cfg(feature = "io")]
pub(crate) use self::shared::SharedCrossing;

use std::task::Poll;

use futures01::{Async, Poll as Poll01};

/// What a 0.1 poll said, in the words of std.
fn poll_std<T, E>(polled: Poll01<T, E>) -> Poll<Result<T, E>> {
    match polled {
        Ok(Async::Ready(item)) => Poll::Ready(Ok(item)),
        Ok(Async::NotReady) => Poll::Pending,
        Err(error) => Poll::Ready(Err(error)),
    }
}

/// What a std poll said, in the words of 0.1.
pub(crate) fn poll_01<T, E>(polled: Poll<Result<T, E>>) -> Poll01<T, E> {
    match polled {
        Poll::Ready(Ok(item)) => Ok(Async::Ready(item)),
        Poll::Ready(Err(error)) => Err(error),
        Poll::Pending => Ok(Async::NotReady),
    }
}
