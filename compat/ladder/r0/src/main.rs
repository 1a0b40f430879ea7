//! This engine under the command line; `cli` has all the rest.

#![forbid(unsafe_code)]

use std::process;

use ptunnel_rung::{cli, engine};

fn main() {
    process::exit(cli::run(engine::run, engine::open_path));
}
