//! ptunnel with tokio 1 in charge: of `main`, the signals, the shutdown and the timers.
//!
//! The tunnels are still futures 0.1, on a `Core` that each thread's runtime awaits.

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
