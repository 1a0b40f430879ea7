//! Rung 5: ptunnel on async/await and tokio 1, without futures 0.1.
//!
//! [`engine`] is the root's `src/engine`, file by file. What never polled is the root's crate.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod engine;

pub use ptunnel::{
    cli, config, demo, inbound, listener, observe, os, proto, timer, upstream, Error,
};

/// The root's names of what it exports at its top.
mod error {
    pub use ptunnel::{Error, Peer, Phase};
}
mod text {
    pub mod debug;
    pub mod escape {
        pub use ptunnel::Escaped;
    }
}
