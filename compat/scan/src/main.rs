//! `cargo legacy-scan`: what a program still uses of futures 0.1, and what that means.

mod check;
mod cli;
mod explain;
mod files;
mod finding;
mod fix;
mod harden;
mod history;
mod lock;
mod mark;
mod outline;
mod parse;
mod plan;
mod project;
mod ratchet;
mod report;
mod scan;
mod seams;
mod shape;
mod size;
mod soundness;
mod sources;
mod syntax;
mod table;
mod toolchain;
mod tree;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(scratch) = std::env::var_os(check::WRAPPER) {
        check::run_rustc(scratch.as_ref());
    }
    match cli::run() {
        Ok(code) => code,
        Err(error) => {
            let line = format!("{error:#}")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            eprintln!("cargo legacy-scan: {line}");
            ExitCode::from(2)
        }
    }
}
