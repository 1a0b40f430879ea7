//! Arguments, logging, run, exit code; nothing else.

use std::env;
use std::io::{self, Write};
use std::process;

use log::warn;
use ptunnel::cli::{self, Command};
use ptunnel::config::Secret;
use ptunnel::env::Environment;
use ptunnel::{engine, logging, Error};

fn main() {
    process::exit(match run() {
        Ok(()) => 0,
        Err(e) => {
            // Nobody may be reading any more; the exit code still tells.
            let _ = writeln!(io::stderr(), "ptunnel: {}", e);
            e.exit_code()
        }
    });
}

fn run() -> Result<(), Error> {
    match cli::parse(env::args_os(), &Environment::of_process(), &ask)? {
        Command::Print(text) => writeln!(io::stdout(), "{}", text)
            .map_err(|e| Error::other("cannot write to stdout", e)),
        Command::Run(config, warnings) => {
            logging::init(config.verbosity);
            for warning in warnings {
                warn!("{}", warning);
            }
            engine::run(&config)
        }
    }
}

/// On the terminal itself: stdin and stdout may be the tunnel.
fn ask(whose: &str) -> io::Result<Secret> {
    rpassword::read_password_from_tty(Some(whose)).map(Secret::new)
}
