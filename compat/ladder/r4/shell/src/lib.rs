//! A rung of ptunnel: [`engine`] is the root's `src/engine`, file by file. Code that never polls is
//! the root's library, under the same names.

#![forbid(unsafe_code)]

pub mod engine;

pub use ptunnel::cli;
use ptunnel::{config, demo, inbound, listener, observe, os, proto, timer, upstream};

mod error {
    pub use ptunnel::{Error, Peer, Phase};
}

mod text {
    pub mod debug;
    pub mod escape {
        pub use ptunnel::Escaped;
    }
}
