//! tokio-reactor 0.1's public API on tokio 1.
//!
//! The crate has tokio-reactor's name and the version of its last release, so that `[patch.crates-io]`
//! can put a program on tokio 0.1 and all of its libraries on tokio 1's reactor, without a change to
//! their source. The folder's README lists the lines, what a program sees and what differs.
//!
//! | item | is |
//! |---|---|
//! | [`Reactor`] | a runtime of tokio 1 on one thread, which runs while the reactor turns or parks |
//! | [`Handle`] | a reference to a reactor, or to the default one |
//! | [`Registration`] | a source of events under the watch of a reactor |
//! | [`PollEvented`] | such a source, its registration and what is known of its readiness |
//! | [`Background`] | a reactor on a thread of its own |
//!
//! # The default reactor
//!
//! A socket that is made without a handle goes, when it is first polled, to the first of:
//!
//! 1. the thread's reactor ([`with_default`], [`set_default`]), as those of `tokio::run` have it;
//! 2. the tokio 1 runtime that the thread is in;
//! 3. the fallback ([`Reactor::set_fallback`]), else a reactor on a thread in the background.
//!
//! The second is new: it lets sockets of tokio 0.1 be used in tasks of tokio 1.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod background;
mod handle;
mod poll_evented;
mod reactor;
mod registration;
mod shared;
mod watched;

pub use self::background::{Background, Shutdown};
pub use self::handle::{set_default, with_default, DefaultGuard, Handle, SetFallbackError};
pub use self::poll_evented::PollEvented;
pub use self::reactor::{Reactor, Turn};
pub use self::registration::Registration;

#[doc(hidden)]
pub use self::watched::Watched;

#[doc(hidden)]
#[deprecated(since = "0.1.2", note = "use SetFallbackError")]
pub type SetDefaultError = SetFallbackError;
