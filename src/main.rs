//! The program: the library with the command line of `ptunnel-cli`.

#![forbid(unsafe_code)]

use std::process;

use ptunnel::cli;

fn main() {
    process::exit(cli::run(ptunnel::run, ptunnel::open_path));
}
