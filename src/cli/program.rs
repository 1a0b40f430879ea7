//! What `main` does with any engine: arguments, logging, run, exit code.

use std::env;
use std::io::{self, Write};

use log::{info, warn};

use super::{read, secrecy, Command};
use crate::config::{Config, Secret};
use crate::env::Environment;
use crate::error::Error;
use crate::logging;

/// Does what the arguments of this process say, with `engine` as what serves; returns the exit
/// code.
pub fn program(engine: impl FnOnce(&Config) -> Result<(), Error>) -> i32 {
    match run(engine) {
        Ok(code) => code,
        Err(e) => {
            // Nobody may be reading any more; the exit code still tells.
            let _ = writeln!(io::stderr(), "ptunnel: {}", e);
            e.exit_code()
        }
    }
}

/// The exit code, when what there was to say was said.
fn run(engine: impl FnOnce(&Config) -> Result<(), Error>) -> Result<i32, Error> {
    // Before the first password is read; that they are wanted at all is known only afterwards.
    let filter = secrecy::leave_out_of_core_dumps();
    let words = read(env::args_os())?;
    // At once: a person who is asked for a password may take a while.
    secrecy::conceal(&words.secrets());
    match words.command(&Environment::of_process(), &ask)? {
        Command::Print(text) => writeln!(io::stdout(), "{}", text)
            .map(|()| 0)
            .map_err(|e| Error::other("cannot write to stdout", e)),
        Command::Run(config, warnings) => {
            // The first thread: nothing above needs to be alone, and nothing below is.
            let logging = logging::init(config.verbosity, config.log_format, &config.log_to)?;
            for warning in warnings {
                warn!("{}", warning);
            }
            match filter {
                Err(e) if config.has_credentials() => {
                    info!("core dumps may show passwords: coredump_filter: {}", e)
                }
                Ok(before) if !config.has_credentials() => before.restore(),
                _ => {}
            }
            Ok(match engine(&config) {
                Ok(()) => 0,
                Err(e) => {
                    logging.tell_end(&e);
                    e.exit_code()
                }
            })
        }
    }
}

/// On the terminal itself: stdin and stdout may be the tunnel.
fn ask(whose: &str) -> io::Result<Secret> {
    rpassword::read_password_from_tty(Some(whose)).map(Secret::new)
}
