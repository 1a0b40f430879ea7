//! tokio-core 0.1's public API on tokio 1.
//!
//! The crate has tokio-core's name and the version of its last release, so that one line in a
//! manifest puts a program and all of its libraries on tokio 1, without a change to their source:
//!
//! ```toml
//! [patch.crates-io]
//! tokio-core = { path = "../ptunnel/compat/drop-in/tokio-core" }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`reactor`] | the event loop ([`Core`](reactor::Core)), its handles, timers, I/O of other kinds |
//! | [`net`] | TCP and UDP sockets |
//! | [`io`] | deprecated: traits and futures that later moved to tokio-io |
//! | [`channel`] | deprecated: an unbounded channel |
//!
//! A `Core` owns a current-thread runtime of tokio 1, which watches descriptors and the clock, and
//! runs its own tasks in the order of tokio-core 0.1.12. Inside [`Core::run`](reactor::Core::run)
//! the thread is in the context of that runtime: `tokio::spawn`, sockets and timers of tokio 1
//! work there.
//!
//! The README lists what a program sees, what differs, and what to do about it.
//!
//! # Example
//!
//! An echo server and a client of it:
//!
//! ```
//! use futures::{Future, Stream};
//! use tokio_core::net::{TcpListener, TcpStream};
//! use tokio_core::reactor::Core;
//! use tokio_io::{io, AsyncRead};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut core = Core::new()?;
//! let handle = core.handle();
//! let spawner = core.handle();
//!
//! let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &handle)?;
//! let addr = listener.local_addr()?;
//! let server = listener.incoming().for_each(move |(socket, _)| {
//!     let (reader, writer) = socket.split();
//!     Ok(spawner.spawn(io::copy(reader, writer).map(drop).map_err(drop)))
//! });
//! handle.spawn(server.map_err(drop));
//!
//! let client = TcpStream::connect(&addr, &handle)
//!     .and_then(|socket| io::write_all(socket, "over there"))
//!     .and_then(|(socket, _)| io::read_exact(socket, [0; 10]));
//! assert_eq!(&core.run(client)?.1, b"over there");
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![warn(missing_docs)]

#[cfg(not(unix))]
compile_error!(
    "this drop-in for tokio-core watches Unix file descriptors; on other systems use tokio-core \
     itself, or port the program to tokio 1"
);

#[macro_use]
#[doc(hidden)]
pub mod io;

#[doc(hidden)]
pub mod channel;
pub mod net;
pub mod reactor;

/// What `try_nb!` needs from futures, under whatever name the caller has it.
#[doc(hidden)]
pub mod private {
    pub use futures::Async;
}
