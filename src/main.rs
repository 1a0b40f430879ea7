//! The program: this engine, with the command line of `cli`.

#![forbid(unsafe_code)]

use std::process;

use ptunnel::{cli, engine};

fn main() {
    process::exit(cli::run(engine::run, engine::open_path));
}
