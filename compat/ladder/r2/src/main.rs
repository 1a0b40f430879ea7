//! Rung 2: tokio 1 owns `main`, signals and shutdown; the old engine runs on Cores of its own.
//!
//! The outermost runtime is swapped first, and nothing else: from here on new code can be async, and
//! calls the old. The engine is the root's, unchanged: a
//! [`CoreThread`](tokio_core_compat::core_thread::CoreThread) runs it, and it is awaited like any
//! future.

#![forbid(unsafe_code)]

mod hosted;
mod server;
mod stdio;

use std::process;

use ptunnel::config::Config;
use ptunnel::listener::reload::ConfigSource;
use ptunnel::{cli, Error};

fn main() {
    process::exit(cli::run(run, ptunnel::engine::open_path));
}

fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    let runtime = ptunnel_r5::runtime()?;
    if config.demo {
        server::demo(runtime, config)
    } else if let Some(destination) = &config.stdio {
        runtime.block_on(stdio::run(config, destination))
    } else {
        runtime.block_on(server::run(config, source))
    }
}
