//! The types of mio 0.6 that tokio 0.1's crates have in their public API, and no event loop.
//!
//! The crate has mio's name and the version of its last 0.6 release, so that `[patch.crates-io]` can
//! put it in mio's place beside the drop-in tokio-reactor. A type that implements
//! [`Evented`] by way of [`EventedFd`](unix::EventedFd) works with the drop-in's
//! `PollEvented` and `Registration` as it is: [`Poll`] learns the descriptor from it, which tokio 1
//! then watches.
//!
//! mio's event loop (`Poll::new`, `Poll::poll`, `Events`), its sockets (`net`) and `SetReadiness` are
//! not here: a program that has a loop of mio 0.6 beside tokio 0.1 can't be patched.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(unix))]
compile_error!(
    "this drop-in for mio 0.6 learns Unix file descriptors; on other systems use mio and tokio 0.1 \
     themselves, or port the program to tokio 1"
);

pub mod event;
mod poll;
mod ready;
mod set;
pub mod unix;

pub use self::poll::{Poll, PollOpt, Token};
pub use self::ready::Ready;

#[doc(hidden)]
pub use self::event::Evented;
