//! tokio-udp 0.1's public API on tokio 1.
//!
//! The crate has tokio-udp's name and the version of its last release, so that `[patch.crates-io]` can
//! put it in tokio-udp's place. The folder's README has the lines, what a program sees and what differs.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod dgram;
mod framed;
mod socket;

pub use self::dgram::{RecvDgram, SendDgram};
pub use self::framed::UdpFramed;
pub use self::socket::UdpSocket;
