//! This engine under the root's command line.

#![forbid(unsafe_code)]

use std::process;

use ptunnel::cli;
use ptunnel_r5::Native;

fn main() {
    process::exit(cli::run(
        ptunnel_r5::run::<Native>,
        ptunnel_r5::open_path::<Native>,
    ));
}
