//! What the drop-ins of tokio-core and of tokio 0.1 share: readiness of descriptors under tokio 1's
//! rules for tasks of futures 0.1, and the operations of their sockets.
//!
//! It is a part of the drop-ins, without an API of its own to depend on.

#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![warn(missing_docs)]

mod connecting;
pub mod options;
#[allow(unsafe_code)] // here and nowhere else
mod read_buf;
mod readiness;
mod ready;
pub mod socket;
pub mod stream;

pub use self::connecting::Connecting;
pub use self::readiness::{block, gone, OnEvent, Readiness, READ_WRITE, STREAM};
pub use self::ready::Ready;

/// What the macros need from the crates that they name.
#[doc(hidden)]
pub mod private {
    pub use {bytes, futures, tokio_io};
}
