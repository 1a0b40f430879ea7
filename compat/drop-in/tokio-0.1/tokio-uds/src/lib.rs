//! tokio-uds 0.2's public API on tokio 1.
//!
//! The crate has tokio-uds's name and the version of its last release, so that `[patch.crates-io]` can
//! put it in tokio-uds's place. The folder's README has the lines, what a program sees and what differs.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![warn(missing_docs)]

mod datagram;
mod dgram;
mod framed;
mod listener;
mod stream;
#[allow(unsafe_code)] // here and nowhere else
mod ucred;

pub use self::datagram::UnixDatagram;
pub use self::dgram::{RecvDgram, SendDgram};
pub use self::framed::UnixDatagramFramed;
pub use self::listener::{Incoming, UnixListener};
pub use self::stream::{ConnectFuture, UnixStream};
pub use self::ucred::UCred;
