//! ptunnel as a program of 2017 was: its engine on tokio-core's own sockets and tasks.
//!
//! The folder of a rung holds only the files that differ from the rung below; the others are links
//! to that rung, and those of this rung are links to the root. Code that never polls is the root's
//! library, under the same names.

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
