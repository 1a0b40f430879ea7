//! tokio-tcp 0.1's public API on tokio 1.
//!
//! The crate has tokio-tcp's name and the version of its last release, so that `[patch.crates-io]` can
//! put it in tokio-tcp's place. The folder's README has the lines, what a program sees and what differs.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod connect;
mod listener;
mod stream;

pub use self::connect::ConnectFuture;
pub use self::listener::{Incoming, TcpListener};
pub use self::stream::TcpStream;
