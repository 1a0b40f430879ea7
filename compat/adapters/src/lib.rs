//! Runs futures 0.1 and tokio-core code beside async/await and tokio 1.
//!
//! For a code base that moves from one to the other in steps that each run. Every piece does one
//! crossing, in one direction, and states what that costs, what dropping it does, and who owns the
//! socket afterwards.
//!
//! | module | carries across |
//! |---|---|
//! | [`task`] | futures, streams and sinks: polled by a std `Waker`, or by a 0.1 task |
//! | [`io`] | streams of bytes, in one hop, with vectored writes and a visible half-close |
//! | [`net`] | sockets of tokio 1 that are shared, and readiness by hand |
//! | `codec` | `Encoder` and `Decoder`, with the feature of that name |
//! | `service` | services of tokio-service and tower, with the feature of that name |
//! | [`time`] | tokio-core's `Timeout` and `Interval`, on tokio 1's clock |
//! | [`spawn`] | `Handle` and `Remote`, `!Send` futures included, in both directions |
//! | [`core_thread`] | a whole tokio-core `Core`, on a thread of its own |
//! | [`prelude`] | nothing; the constructors of the others as methods |
//!
//! # Names
//!
//! A wrapper is named for what it makes of the thing inside: [`task::AsStd`] and [`io::AsTokio`]
//! are for today's code to use, [`task::As01`] and [`io::AsIo01`] for yesterday's.
//!
//! # A first step
//!
//! `main` becomes tokio 1's, and the old engine goes on its own Core, where it is awaited:
//!
//! ```
//! use tokio_core_compat::core_thread::CoreThread;
//! use tokio_core::reactor::Handle;
//!
//! /// Stands for the program as it was.
//! fn engine(_: &Handle) -> impl futures01::Future<Item = u32, Error = std::io::Error> {
//!     futures01::future::ok(42)
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let core = CoreThread::new("engine")?;
//!     let served = core.run(engine).await??;
//!     assert_eq!(served, 42);
//!     core.shutdown().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Misuse
//!
//! futures 0.1 finds its task in a thread-local variable, tokio-core its Core in a handle, tokio 1
//! its runtime in another variable: what is polled in the wrong place panics or sleeps for ever.
//! Where this crate can tell, it panics with a message that says what to do instead. [`misuse`] lists
//! all ways to misuse it.
//!
//! # Budget
//!
//! What is always ready leaves the other tasks their turn: under tokio 1 by its cooperative budget,
//! on a Core after 128 ready polls. [`task`](task#budget) says where that ends.
//!
//! # Versions
//!
//! Built and tested with tokio-core 0.1.12 and tokio-io 0.1.5, the last pair with its own reactor,
//! and with 0.1.18 and 0.1.13, the last of all.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![warn(missing_docs)]

#[cfg(feature = "codec")]
pub mod codec;
#[cfg(feature = "core")]
pub mod core_thread;
#[cfg(feature = "io")]
pub mod io;
#[cfg(any(doc, doctest))]
pub mod misuse;
#[cfg(all(unix, feature = "net"))]
pub mod net;
pub mod prelude;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "spawn")]
pub mod spawn;
pub mod task;
#[cfg(feature = "time")]
pub mod time;

/// Compiles and runs what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod shown {}
